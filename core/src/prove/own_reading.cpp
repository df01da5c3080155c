#include "prove/own_reading.hpp"

#include <algorithm>
#include <numeric>
#include <optional>

#include "base/text.hpp"
#include "prove/no_reading.hpp"
#include "prove/search.hpp"

namespace kvedit::prove {
namespace {

bool heads_before_blocks(std::string_view layout) { return layout == "LHBNC" || layout == "BHLNC"; }

/// Every byte of the tensor in one block: then another axis gives the same bytes.
bool one_block_of_all(const LayerFacts& facts, const Reading& reading) {
  return facts.num_blocks == 1 && facts.tensors[0].shape[reading.axes[0]] == reading.kernel_pages;
}

Failure two_fit(const LayerFacts& facts, const Reading& a, const Reading& b, std::string_view why) {
  const auto extent = [&](const Reading& r) { return facts.tensors[0].shape[r.axes[0]]; };
  return {
      Code::granularity_mismatch,
      text("two readings fit: axis ", a.axes[0], " (", extent(a), " entries, ", a.kernel_pages,
           " a block) and axis ", b.axes[0], " (", extent(b), " entries, ", b.kernel_pages,
           " a block) both make up ", facts.num_blocks, " pages of ", facts.spec->page_size_bytes,
           " bytes; ", why, ". Register with a placement, or with another num_blocks"),
      {{"axis", static_cast<std::int64_t>(a.axes[0])},
       {"other_axis", static_cast<std::int64_t>(b.axes[0])},
       {"page_size_bytes", facts.spec->page_size_bytes}}};
}

std::optional<Failure> ambiguous(const LayerFacts& facts, const Reading& reading, Search& search) {
  const bool same = one_block_of_all(facts, reading);
  const Tensor& tensor = facts.tensors[0];
  if (facts.tensors.size() == 1 && !facts.spec->recurrent() && tensor.shape.size() == 5 &&
      tensor.shape[reading.axes[0]] == 2)
    if (const auto other = search.at_depth(search.depth_of(0, reading.axes[0]) + 1);
        other && !(same && one_block_of_all(facts, *other)))
      return two_fit(facts, reading, *other, "two blocks, or two planes");
  if (!heads_before_blocks(facts.layout)) return std::nullopt;
  const auto outer = search.at_depth(0), inner = search.at_depth(1);
  if (outer && inner && !(same && one_block_of_all(facts, *outer)))
    return two_fit(facts, *outer, *inner,
                   text("layout ", facts.layout, " puts heads before blocks"));
  return std::nullopt;
}

Box box_of(const Tensor& tensor, std::size_t number, std::size_t block_axis) {
  Box box{static_cast<std::uint32_t>(number), 0, tensor.dtype.itemsize, {}};
  for (std::size_t a = 0; a < tensor.shape.size(); ++a)
    box.axes.push_back({tensor.shape[a], tensor.stride[a] * tensor.dtype.itemsize,
                        a == block_axis ? Role::block : Role::content});
  return box;
}

}  // namespace

std::variant<Reading, Failure> read(const LayerFacts& facts) {
  Search search(facts);
  const auto reading = search.first();
  if (!reading && search.exhausted())
    return Failure{Code::granularity_mismatch,
                   text("none of the first ", Search::most_candidates,
                        " ways to read its tensors makes up one page; a rule must say how"),
                   {}};
  if (!reading) return no_reading(facts, search);
  if (facts.placed_stride < 0)
    if (auto failure = ambiguous(facts, *reading, search)) return *failure;
  return *reading;
}

std::vector<Box> boxes_of(const LayerFacts& facts, const Reading& reading) {
  std::vector<Box> boxes;
  for (std::size_t t = 0; t < facts.tensors.size(); ++t)
    boxes.push_back(split_blocks(box_of(facts.tensors[t], t, reading.axes[t]), facts.num_blocks,
                                 reading.kernel_pages));
  return boxes;
}

Box split_blocks(const Box& box, std::int64_t blocks, std::int64_t kernel_pages) {
  Box split = box;
  for (std::size_t a = 0; a < split.axes.size(); ++a) {
    if (split.axes[a].role != Role::block) continue;
    const std::int64_t stride = split.axes[a].stride;
    split.axes[a] = {blocks, stride * kernel_pages, Role::block};
    if (kernel_pages > 1) split.axes.insert(a + 1, {kernel_pages, stride, Role::kernel_page});
    break;
  }
  return split;
}

}  // namespace kvedit::prove
