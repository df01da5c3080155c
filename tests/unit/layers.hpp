#pragma once

#include <string>
#include <utility>
#include <vector>

#include <catch2/catch.hpp>

#include <kvedit/registration.hpp>

#include "model/edit.hpp"
#include "model/layer_facts.hpp"
#include "model/rule.hpp"

namespace kvedit::testing {

using Numbers = std::vector<std::int64_t>;

inline Tensor tensor(const char* dtype, Numbers shape, Numbers stride,
                     std::int64_t storage_offset = 0, std::string storage = "s0") {
  return {*find_dtype(dtype), std::move(shape), std::move(stride), storage_offset,
          std::move(storage)};
}

inline Tensor contiguous(const char* dtype, Numbers shape, std::int64_t storage_offset = 0,
                         std::string storage = "s0") {
  Numbers stride(shape.size(), 1);
  for (std::size_t a = shape.size(); a-- > 1;) stride[a - 1] = stride[a] * shape[a];
  return tensor(dtype, std::move(shape), std::move(stride), storage_offset, std::move(storage));
}

/// The same memory with its axes in another order: axis `a` of the result is `order[a]` of `from`.
inline Tensor permuted(const Tensor& from, const std::vector<std::size_t>& order) {
  Tensor to = from;
  for (std::size_t a = 0; a < order.size(); ++a) {
    to.shape[a] = from.shape[order[a]];
    to.stride[a] = from.stride[order[a]];
  }
  return to;
}

inline Attribute field(std::string name, std::int64_t value) {
  return {std::move(name), Value::of(value)};
}
inline Attribute field(std::string name, const char* value) {
  return {std::move(name), Value::of(value)};
}

inline Spec spec(const char* type, std::int64_t block_size, std::int64_t page,
                 std::vector<Attribute> more = {}) {
  more.push_back(field("block_size", block_size));
  more.push_back(field("page_size_bytes", page));
  auto made = make_spec(type, {}, std::move(more));
  if (!made) FAIL("spec: " << made.error().text());
  return *made;
}

/// An attention spec whose page is padded behind so many bytes.
inline Spec padded_attention(std::int64_t page, std::int64_t unpadded) {
  return spec("FullAttentionSpec", 16, page,
              {field("page_size_padded", page), field("unpadded_page_size_bytes", unpadded)});
}

/// A recurrent spec, padding declared, of one float32 vector for each number of elements.
inline Spec states(std::int64_t block_size, std::int64_t page, const Numbers& elements,
                   std::vector<Attribute> more = {}) {
  std::vector<Value> shapes, dtypes;
  for (const std::int64_t each : elements) {
    shapes.push_back(Value::of(std::vector{Value::of(each)}));
    dtypes.push_back(Value::of("float32"));
  }
  more.push_back({"shapes", Value::of(std::move(shapes))});
  more.push_back({"dtypes", Value::of(std::move(dtypes))});
  more.push_back(field("mamba_cache_mode", "align"));
  more.push_back(field("page_size_padded", page));
  return spec("MambaSpec", block_size, page, std::move(more));
}

/// What one layer's facts point to.
struct Layer {
  Spec spec;
  std::vector<Tensor> tensors;
  std::int64_t blocks = 1;
  std::string layout = {};
  Group group = {};

  LayerFacts facts(std::int64_t placed_stride = -1) const {
    LayerFacts facts;
    facts.spec = &spec;
    facts.group = &group;
    facts.layout = layout;
    facts.num_blocks = blocks;
    facts.slots = spec.recurrent() ? 1 : spec.num_states.value_or(spec.block_size);
    facts.placed_stride = placed_stride;
    facts.tensors = tensors;
    return facts;
  }
};

/// A rule in this program that says what it is told to say.
template <class Say>
class SayingRule : public Rule {
 public:
  SayingRule(std::string id, Say say) : say_(std::move(say)) { info_.id = std::move(id); }

  const RuleInfo& info() const override { return info_; }
  Answer answer(const LayerFacts& layer) const override { return say_(layer); }

 private:
  RuleInfo info_;
  Say say_;
};

template <class Say>
void add_rule(RuleBook& book, std::string id, Say say) {
  book.rules.push_back(std::make_shared<SayingRule<Say>>(std::move(id), std::move(say)));
  book.infos.push_back(book.rules.back()->info());
}

inline Answer no_match(std::string reason) {
  return {Verdict::no_match, std::move(reason), {}, {}};
}

/// One attention layer of 4 blocks of 16 tokens, 1,024 bytes each, in a storage of its own.
inline void add_dense_layer(RegistrationData& data, std::size_t group, const std::string& name) {
  const std::string storage = "storage of " + name;
  data.num_blocks = 4;
  data.storages.push_back({storage, 4096, "cpu"});
  data.caches.push_back({name, {contiguous("bfloat16", {4, 1, 16, 32}, 0, storage)}, false});
  data.groups[group].layers.push_back(name);
}

inline Group dense_group() {
  Group group;
  group.spec = spec("FullAttentionSpec", 16, 1024,
                    {field("num_kv_heads", 1), field("head_size", 16), field("dtype", "bfloat16")});
  return group;
}

inline RegistrationData dense_data(const std::vector<std::string>& names) {
  RegistrationData data;
  data.groups.push_back(dense_group());
  for (const std::string& name : names) add_dense_layer(data, 0, name);
  return data;
}

}  // namespace kvedit::testing
