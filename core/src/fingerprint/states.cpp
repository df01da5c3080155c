#include "fingerprint/states.hpp"

#include "fingerprint/stream.hpp"
#include "model/dtype_names.hpp"

namespace kvedit::fingerprint {
namespace {

const std::vector<Value>* list_of(const Spec& spec, std::string_view name) {
  const Value* value = spec.attribute(name);
  return value && value->kind == Value::Kind::list ? &value->items : nullptr;
}

}  // namespace

std::vector<State> states_of(const Spec& spec) {
  const auto* shapes = list_of(spec, "shapes");
  const auto* dtypes = list_of(spec, "dtypes");
  if (!shapes || !dtypes || shapes->size() != dtypes->size() || spec.state_bytes.value_or(-1) < 0)
    return {};
  std::vector<State> states;
  for (std::size_t s = 0; s < shapes->size(); ++s) {
    const auto dtype = find_dtype((*dtypes)[s].text);
    if (!dtype) return {};
    State& state =
        states.emplace_back(State{std::string(long_name(dtype->name)), {}, dtype->itemsize});
    for (const Value& extent : (*shapes)[s].items) {
      state.shape.push_back(extent.integer);
      if (__builtin_mul_overflow(state.bytes, extent.integer, &state.bytes)) return {};
    }
  }
  return states;
}

std::optional<Box> without_blocks(const LayerFacts& facts, std::uint32_t tensor,
                                  const std::vector<PartShape>& payload) {
  const Tensor& registered = facts.tensors[tensor];
  const std::size_t leader = storage_leader(facts.tensors, tensor);
  Box box{tensor, 0, registered.dtype.itemsize, {}};
  bool found = false;
  for (std::size_t a = 0; a < registered.shape.size(); ++a) {
    const std::int64_t stride = registered.stride[a] * box.item_bytes;
    bool blocks = false;
    for (const PartShape& part : payload)
      blocks = blocks || (storage_leader(facts.tensors, part.tensor) == leader &&
                          part.block_stride == stride);
    if (blocks && !found && registered.shape[a] >= facts.num_blocks)
      found = true;
    else
      box.axes.push_back({registered.shape[a], stride, Role::opaque});
  }
  return found ? std::optional(box) : std::nullopt;
}

bool states_in_order(const LayerClass& of, const std::vector<State>& states) {
  const LayerFacts& facts = of.facts;
  const std::vector<PartShape>& payload = of.page->payload;
  if (states.empty() || of.page->declared || of.page->block_bytes != facts.spec->state_bytes)
    return false;
  const Stream stream(facts, payload);
  const bool row = facts.tensors.size() == 1;
  if (!row && facts.tensors.size() != states.size()) return false;
  std::int64_t at = 0;
  for (std::size_t t = 0; t < facts.tensors.size(); ++t) {
    const std::int64_t bytes = row ? of.page->block_bytes : states[t].bytes;
    const auto box = without_blocks(facts, static_cast<std::uint32_t>(t), payload);
    const auto run = box ? stream.run_of(*box) : std::nullopt;
    if (!run || run->at != at || run->bytes < bytes || (!row && run->bytes != bytes)) return false;
    at += bytes;
  }
  return true;
}

}  // namespace kvedit::fingerprint
