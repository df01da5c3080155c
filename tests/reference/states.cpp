#include "reference/states.hpp"

#include <algorithm>
#include <initializer_list>

namespace kvedit::reference {
namespace {

std::optional<std::int64_t> attention_slots(const Spec& spec) {
  if (spec.num_states) return std::max<std::int64_t>(*spec.num_states, 1);
  const Ratio ratio = spec.tokens_per_state.value_or(Ratio{});
  if (ratio.numerator <= 0 || ratio.denominator <= 0) return 1;
  const Wide states = Wide{spec.block_size} * ratio.denominator;
  if (states % ratio.numerator != 0) return std::nullopt;
  return static_cast<std::int64_t>(states / ratio.numerator);
}

/// A list in one page is cut into `(2, block, 1, w)` of the first tensor's dtype, if that divides.
std::int64_t list_slots(const Subject& s) {
  const Wide cut = Wide{s.tensors->front().dtype.itemsize} * 2 * s.spec->block_size;
  return s.spec->page_size_bytes % cut == 0 ? s.spec->block_size : 1;
}

/// A row is cut into `block` states of `w` bytes: the row's share of a token, rounded up to 16, 8,
/// 4 or 2 bytes where that divides the block step and stays in the page.
std::optional<std::int64_t> row_slots(const Subject& s, const Reading& reading) {
  const Bytes& row = reading.raw.front();
  const auto length = static_cast<std::int64_t>(row.size());
  if (reading.k != 1 || s.tensors->front().dtype.itemsize > 2) return std::nullopt;
  if (row.back().offset - row.front().offset + 1 != length || reading.raw.size() < 2)
    return std::nullopt;
  const std::int64_t step = reading.raw[1].front().offset - row.front().offset;
  const std::int64_t block = s.spec->block_size;
  const std::int64_t share = (length + block - 1) / block;
  for (const std::int64_t width : {16, 8, 4, 2}) {
    const Wide rounded = (share + width - 1) / width * width;
    if (step % width == 0 && rounded * block <= s.spec->page_size_bytes) return block;
  }
  return 1;
}

}  // namespace

std::optional<std::int64_t> state_bytes_of(const Spec& spec) {
  const Value* shapes = spec.attribute("shapes");
  const Value* dtypes = spec.attribute("dtypes");
  if (!spec.recurrent() || shapes == nullptr || dtypes == nullptr) return std::nullopt;
  if (shapes->items.empty() || shapes->items.size() != dtypes->items.size()) return std::nullopt;
  Wide bytes = 0;
  for (std::size_t i = 0; i < shapes->items.size(); ++i) {
    const std::optional<DType> dtype = find_dtype(dtypes->items[i].text);
    if (!dtype) return std::nullopt;
    Wide elements = dtype->itemsize;
    for (const Value& extent : shapes->items[i].items) elements *= extent.integer;
    bytes += elements;
  }
  return static_cast<std::int64_t>(bytes);
}

std::int64_t tokens_of(const RegistrationData& data, const Group& group, const Spec& leaf) {
  std::optional<bool> sharded = group.spec.dcp_sharded;
  if (!sharded && !group.layer_specs.empty() && !group.layers.empty()) {
    const auto first = group.layer_specs.find(group.layers.front());
    if (first != group.layer_specs.end()) sharded = first->second.dcp_sharded;
  }
  return leaf.block_size * (sharded.value_or(!leaf.recurrent()) ? data.parallel.dcp : 1);
}

std::optional<std::int64_t> slots_of(const Subject& subject, const Reading& reading, bool window) {
  if (!subject.spec->recurrent()) return attention_slots(*subject.spec);
  if (subject.tensors->size() > 1) return window ? list_slots(subject) : 1;
  return window ? row_slots(subject, reading) : std::nullopt;
}

}  // namespace kvedit::reference
