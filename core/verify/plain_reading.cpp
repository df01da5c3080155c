#include "plain_reading.hpp"

#include <algorithm>
#include <utility>

namespace kvedit::verify {
namespace {

constexpr int most_choices = 4096;

// Axes of a tensor that can carry the blocks, outermost in memory first.
std::vector<std::size_t> axes_by_count(const Elements& tensor, const LayerFacts& facts,
                                       std::int64_t kernel_pages) {
  std::vector<std::size_t> axes;
  for (std::size_t axis = 0; axis < tensor.shape.size(); ++axis) {
    if (tensor.shape[axis] / kernel_pages != facts.blocks) continue;
    const std::int64_t step = tensor.step(axis);
    const bool placed = facts.placed_stride != 0 && facts.blocks > 1;
    if (placed && (facts.placed_stride % step != 0 || facts.placed_stride / step != kernel_pages))
      continue;
    axes.push_back(axis);
  }
  std::stable_sort(axes.begin(), axes.end(),
                   [&](std::size_t a, std::size_t b) { return tensor.step(a) > tensor.step(b); });
  return axes;
}

bool makes_up_one_page(const Spec& spec, std::int64_t bytes) {
  if (spec.recurrent())
    return bytes >= spec.state_bytes.value_or(0) && bytes <= spec.page_size_bytes;
  return bytes == spec.page_size_bytes || bytes == spec.unpadded_page_size_bytes ||
         (spec.page_size_padded && bytes < spec.page_size_bytes);
}

// The next choice of one axis for each tensor, the last tensor's first; false after the last one.
bool advance(std::vector<std::size_t>& choice, const std::vector<std::vector<std::size_t>>& axes) {
  for (std::size_t t = choice.size(); t-- > 0;) {
    if (++choice[t] < axes[t].size()) return true;
    choice[t] = 0;
  }
  return false;
}

std::optional<std::int64_t> known_payload(const Spec& spec) {
  if (spec.recurrent()) return spec.state_bytes;
  return spec.unpadded_page_size_bytes.value_or(spec.page_size_bytes);
}

}  // namespace

std::optional<PlainReading> PlainReading::find(const LayerFacts& facts, std::int64_t kernel_pages) {
  std::vector<std::vector<std::size_t>> axes;
  for (const Elements& tensor : facts.tensors) {
    axes.push_back(axes_by_count(tensor, facts, kernel_pages));
    if (axes.back().empty()) return std::nullopt;
  }
  std::vector<std::size_t> choice(axes.size(), 0);
  int tried = 0;
  do {
    std::int64_t bytes = 0;
    for (std::size_t t = 0; t < axes.size(); ++t)
      bytes += facts.tensors[t].entry_bytes(axes[t][choice[t]]) * kernel_pages;
    if (!makes_up_one_page(*facts.spec, bytes)) continue;
    for (std::size_t t = 0; t < axes.size(); ++t) choice[t] = axes[t][choice[t]];
    return PlainReading(facts, kernel_pages, std::move(choice));
  } while (++tried < most_choices && advance(choice, axes));
  return std::nullopt;
}

Runs PlainReading::raw(std::int64_t block) const {
  Runs runs;
  for (std::size_t t = 0; t < axes_.size(); ++t)
    facts_.tensors[t].append_entries(axes_[t], block * kernel_pages_, kernel_pages_, runs);
  return runs;
}

Runs PlainReading::payload(std::int64_t block) const {
  Runs elements = raw(block);
  const std::optional<Run> page = window(elements);
  const std::optional<std::int64_t> bytes = known_payload(*facts_.spec);
  if (!page || !bytes) return elements;
  const Runs first = {{page->storage, page->begin, *bytes}};
  Runs all = elements;
  make_set(all);
  const bool covered = axes_.size() == 1 && contains(all, first);
  return covered || contains(first, all) ? first : elements;
}

Runs PlainReading::owned(std::int64_t block) const {
  Runs all = raw(block);
  if (const std::optional<Run> page = window(all)) return {*page};
  make_set(all);
  return all;
}

std::optional<Run> PlainReading::window(Runs raw) const {
  if (!moves_by_one_stride()) return std::nullopt;
  make_set(raw);
  if (raw.front().storage != raw.back().storage) return std::nullopt;
  const std::int64_t page = facts_.spec->page_size_bytes;
  if (raw.back().end() - raw.front().begin > page) return std::nullopt;
  return Run{raw.front().storage, raw.front().begin, page};
}

bool PlainReading::moves_by_one_stride() const {
  if (facts_.blocks == 1) return true;
  for (std::size_t t = 1; t < axes_.size(); ++t)
    if (facts_.tensors[t].step(axes_[t]) != facts_.tensors[0].step(axes_[0])) return false;
  return true;
}

bool PlainReading::indexed_by_block() const {
  return kernel_pages_ == 1 &&
         std::all_of(axes_.begin(), axes_.end(), [](std::size_t axis) { return axis == 0; });
}

}  // namespace kvedit::verify
