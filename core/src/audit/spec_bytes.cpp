#include "audit/spec_bytes.hpp"

#include <algorithm>
#include <array>
#include <string_view>

#include <kvedit/dtype.hpp>

#include "base/int128.hpp"
#include "base/text.hpp"

namespace kvedit::audit {
namespace {

bool says(const Spec& spec, std::string_view name, std::string_view nothing) {
  const Value* value = spec.attribute(name);
  if (!value || value->kind == Value::Kind::null) return false;
  if (value->kind == Value::Kind::integer) return value->integer != 0;
  return value->kind != Value::Kind::text || value->text != nothing;
}

bool plain(const Spec& spec) {
  constexpr std::array<std::string_view, 3> classes = {"FullAttentionSpec", "SlidingWindowSpec",
                                                       "ChunkedLocalAttentionSpec"};
  const bool known = std::find(classes.begin(), classes.end(), spec.type) != classes.end();
  return known && !spec.num_states && !says(spec, "kv_quant_mode", "none") &&
         !says(spec, "cache_dtype_str", "auto") && !says(spec, "tq_slot_size", "") &&
         !says(spec, "state_content_bytes", "") && !says(spec, "state_content_size_bytes", "");
}

std::optional<std::int64_t> unpadded_page(const Spec& spec) {
  if (spec.unpadded_page_size_bytes) return spec.unpadded_page_size_bytes;
  return spec.page_size_padded ? std::nullopt : std::optional(spec.page_size_bytes);
}

std::optional<DType> dtype_of(const Spec& spec) {
  const Value* dtype = spec.attribute("dtype");
  return dtype && dtype->kind == Value::Kind::text ? find_dtype(dtype->text) : std::nullopt;
}

}  // namespace

std::optional<Failure> other_bytes_than_the_spec_makes(const LayerFacts& facts) {
  const Spec& spec = *facts.spec;
  const auto page = unpadded_page(spec);
  const auto dtype = dtype_of(spec);
  if (!plain(spec) || !page || !dtype || !spec.heads || !spec.head_size) return std::nullopt;
  const Int128 content = Int128{*spec.head_size} + spec.head_size_v.value_or(*spec.head_size);
  constexpr std::int64_t sensible = std::int64_t{1} << 30;
  if (*spec.heads > sensible || content > sensible) return std::nullopt;
  const Int128 made = content * *spec.heads * facts.slots * dtype->itemsize;
  if (made == *page) return std::nullopt;
  return Failure{
      Code::bad_geometry,
      text(facts.slots, " states of ", *spec.heads, " heads of ", content, " ", dtype->name,
           " elements are ", saturated(made), " bytes and the page has ", *page,
           "; the bytes are right, but tokens, slots and chunk sizes follow from "
           "block_size ",
           spec.block_size, ": check it, the heads and the dtype against the engine's"),
      {{"spec_bytes", saturated(made)}, {"page_bytes", *page}},
      Severity::warning};
}

}  // namespace kvedit::audit
