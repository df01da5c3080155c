#include "prove/own_reading.hpp"

#include <algorithm>
#include <numeric>
#include <optional>

#include "base/text.hpp"
#include "prove/grain.hpp"

namespace kvedit::prove {
namespace {

constexpr int most_candidates = 4096;

std::int64_t entry_bytes(const Tensor& tensor, std::size_t axis) {
  std::int64_t bytes = tensor.dtype.itemsize;
  for (std::size_t a = 0; a < tensor.shape.size(); ++a)
    if (a != axis) bytes *= tensor.shape[a];
  return bytes;
}

Entries entries_of(const Tensor& tensor, std::size_t axis) {
  return {tensor.shape[axis], tensor.stride[axis] * tensor.dtype.itemsize,
          entry_bytes(tensor, axis)};
}

using AxisOrder = InlineVector<std::size_t, max_axes>;

/// Outermost in memory first. The stride of an axis of one entry says nothing: with a single block
/// it may be the block axis, whatever its stride.
AxisOrder memory_order(const Tensor& tensor, std::int64_t num_blocks) {
  AxisOrder order;
  for (std::size_t a = 0; a < tensor.shape.size(); ++a) order.push_back(a);
  const auto lone = [&](std::size_t a) { return num_blocks == 1 && tensor.shape[a] == 1; };
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    return lone(a) || lone(b) ? lone(a) && !lone(b) : tensor.stride[a] > tensor.stride[b];
  });
  return order;
}

struct NearMiss {
  Miss miss;
  std::size_t axis = 0;
  std::int64_t entry = 0;
};

class Search {
 public:
  Search(const LayerFacts& facts, std::int64_t placed_stride)
      : facts_(facts), placed_stride_(placed_stride) {
    orders_.reserve(facts.tensors.size());
    for (const Tensor& tensor : facts.tensors)
      orders_.push_back(memory_order(tensor, facts.num_blocks));
  }

  std::optional<Reading> first() {
    chosen_.assign(facts_.tensors.size(), 0);
    entries_.assign(facts_.tensors.size(), {});
    return descend(0);
  }

  /// Whether the `depth`-th axes that are longer than 1, from outside, make up a page.
  std::optional<Reading> at_depth(std::size_t depth) {
    for (std::size_t t = 0; t < orders_.size(); ++t) {
      std::size_t seen = 0, axis = max_axes;
      for (const std::size_t a : orders_[t])
        if (facts_.tensors[t].shape[a] > 1 && seen++ == depth) axis = a;
      if (axis == max_axes) return std::nullopt;
      choose(t, axis);
    }
    return judge();
  }

  std::size_t depth_of(std::size_t tensor, std::size_t axis) const {
    std::size_t depth = 0;
    for (const std::size_t a : orders_[tensor]) {
      if (a == axis) break;
      if (facts_.tensors[tensor].shape[a] > 1) ++depth;
    }
    return depth;
  }

  const std::optional<NearMiss>& nearest() const { return nearest_; }
  bool exhausted() const { return tries_ >= most_candidates; }

 private:
  void choose(std::size_t tensor, std::size_t axis) {
    chosen_[tensor] = axis;
    entries_[tensor] = entries_of(facts_.tensors[tensor], axis);
  }

  std::optional<Reading> descend(std::size_t tensor) {
    if (tensor == orders_.size()) return judge();
    for (const std::size_t axis : orders_[tensor]) {
      choose(tensor, axis);
      if (tensor > 0 && !may_share_pages(tensor)) continue;
      if (auto reading = descend(tensor + 1)) return reading;
      if (exhausted()) return std::nullopt;
    }
    return std::nullopt;
  }

  /// Entries of tensors that make the same blocks differ by less than a block's.
  bool may_share_pages(std::size_t tensor) const {
    const std::int64_t most = entries_[0].count / facts_.num_blocks;
    const std::int64_t here = entries_[tensor].count / facts_.num_blocks;
    return most == here || std::max(most, here) > facts_.num_blocks;
  }

  std::optional<Reading> judge() {
    ++tries_;
    const Grain grain = grain_of(facts_, placed_stride_, entries_);
    if (const auto* pages = std::get_if<std::int64_t>(&grain)) return Reading{chosen_, *pages};
    const Miss& miss = std::get<Miss>(grain);
    if (!nearest_ || miss.kind > nearest_->miss.kind)
      nearest_ = NearMiss{miss, chosen_[0], all_bytes()};
    return std::nullopt;
  }

  /// Of one entry of every tensor; only shown.
  std::int64_t all_bytes() const {
    Int128 bytes = 0;
    for (const Entries& each : entries_) bytes += each.bytes;
    return static_cast<std::int64_t>(std::min<Int128>(bytes, INT64_MAX));
  }

  const LayerFacts& facts_;
  std::int64_t placed_stride_;
  std::vector<AxisOrder> orders_;
  std::vector<std::size_t> chosen_;
  std::vector<Entries> entries_;
  std::optional<NearMiss> nearest_;
  int tries_ = 0;
};

std::int64_t clamp(Int128 value) {
  return static_cast<std::int64_t>(std::min<Int128>(value, INT64_MAX));
}

Failure explain(const LayerFacts& facts, std::int64_t placed_stride, const Search& search) {
  const NearMiss& near = *search.nearest();
  const Miss& miss = near.miss;
  const std::int64_t page = facts.spec->page_size_bytes;
  if (miss.kind == Miss::Kind::blocks || miss.kind == Miss::Kind::count)
    return {Code::block_count,
            text("axis ", near.axis, " has ", miss.have, " entries where ", facts.num_blocks,
                 " blocks of ", miss.kernel_pages, " need ", miss.want,
                 "; num_blocks and the tensor do not belong together"),
            {{"entries", clamp(miss.have)},
             {"needed", clamp(miss.want)},
             {"num_blocks", facts.num_blocks}}};
  if (placed_stride >= 0 && miss.kind == Miss::Kind::ratio)
    return {Code::placement_mismatch,
            text("the placement moves ", placed_stride, " bytes from block to block and axis ",
                 near.axis, " ", miss.have,
                 " bytes from entry to entry; no whole number of entries makes a block"),
            {{"block_stride", placed_stride}, {"entry_stride", clamp(miss.have)}}};
  const bool whole = miss.kind == Miss::Kind::page;
  return {Code::not_tiled,
          text("no axis makes up one page of ", page, " bytes: the nearest, axis ", near.axis,
               ", has ", facts.tensors[0].shape[near.axis], " entries of ", near.entry, " bytes",
               facts.tensors.size() > 1 ? " over all tensors" : "",
               whole ? text(", and ", miss.kernel_pages, " for each of ", facts.num_blocks,
                            " blocks have ", miss.have)
                     : "",
               facts.spec->state_bytes ? text("; the states alone have ", *facts.spec->state_bytes)
                                       : "",
               "; check page_size_bytes, num_blocks, dtype and shape against the engine's"),
          {{"page_size_bytes", page}, {"nearest", clamp(whole ? miss.have : Int128{near.entry})}}};
}

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
    return two_fit(facts, *outer, *inner, "the layout puts heads before blocks");
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

std::variant<Reading, Failure> read(const LayerFacts& facts, std::int64_t placed_stride) {
  Search search(facts, placed_stride);
  const auto reading = search.first();
  if (!reading && search.exhausted())
    return Failure{Code::granularity_mismatch,
                   text("none of the first ", most_candidates,
                        " ways to read its tensors makes up one page; a rule must say how"),
                   {}};
  if (!reading) return explain(facts, placed_stride, search);
  if (placed_stride < 0)
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
