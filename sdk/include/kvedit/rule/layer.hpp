/// What a rule sees of a layer.
#pragma once

#include <cstddef>
#include <cstdint>
#include <kvedit/rule/spec.hpp>
#include <kvedit/rule/tensor.hpp>
#include <optional>
#include <string_view>

#pragma GCC visibility push(hidden)
namespace kvedit::rule {

/// How many entries of an axis make a block, or why no whole number of them does.
class Entries {
 public:
  explicit Entries(std::int64_t count) noexcept : count_(count) {}
  explicit Entries(const Reason& why) noexcept : why_(why) {}
  explicit operator bool() const noexcept { return why_.empty(); }
  std::int64_t count() const noexcept { return count_; }
  const Reason& why() const noexcept { return why_; }

 private:
  std::int64_t count_ = 0;
  Reason why_;
};

/// The leaf spec of a layer, its group's flags, and its registered tensors.
class Layer : public Spec {
 public:
  using Spec::Spec;
  Layer(const Layer&) = delete;
  Layer& operator=(const Layer&) = delete;

  std::string_view layout() const noexcept { return detail::view(facts().layout); }
  Purpose purpose() const noexcept { return static_cast<Purpose>(facts().purpose); }
  std::int64_t num_blocks() const noexcept { return facts().num_blocks; }
  std::string_view group_role() const noexcept { return detail::view(facts().role); }
  bool transferred() const noexcept { return group_flag(KVEDIT_GROUP_TRANSFERRED); }
  bool host_resident() const noexcept { return group_flag(KVEDIT_GROUP_HOST_RESIDENT); }
  bool eagle() const noexcept { return group_flag(KVEDIT_GROUP_EAGLE); }

  std::size_t tensors() const noexcept {
    if (facts().tensors == nullptr || facts().tensor_stride == 0) return 0;
    return static_cast<std::size_t>(facts().tensor_count);
  }
  Tensor tensor(std::size_t index) const {
    if (index >= tensors()) throw Fault(reason("tensor {} of a layer with {}", index, tensors()));
    return {facts(), index};
  }

  /// Bytes from block to block where the engine says at registration where pages lie. None without
  /// a placement, and from hosts before minor 1 of the boundary.
  std::optional<std::int64_t> placed_block_stride() const noexcept {
    return known(facts().placed_block_stride);
  }

  /// `k`: how many entries of `axis`, over all tensors of the layer, make a block.
  Entries entries_per_block(std::size_t axis) const;
  /// The outermost axis of tensor 0 in memory whose entries make blocks, in all tensors. Without a
  /// placement none where the two outermost ones both do and the shape has them the other way
  /// round: then only a placement could tell.
  std::optional<std::size_t> block_axis() const;
  /// One box over the page in which all tensors of the layer lie, axis 0 carrying the blocks.
  Box whole_page() const;

 private:
  bool group_flag(std::uint32_t flag) const noexcept { return (facts().group_flags & flag) != 0; }
  Entries by_count(std::int64_t have, std::int64_t entry) const;
  Entries by_bytes(std::size_t axis, std::int64_t entry) const;
  Entries by_placement(std::size_t axis, std::int64_t entry) const;
  bool make_up_page(std::int64_t bytes) const noexcept;
  bool counts_blocks() const noexcept {
    return is(Kind::mamba) || (page_size_padded(0) != 0 && !unpadded_page_bytes());
  }
};

/// With a placement its block stride over that of the axis decides; without, for recurrent layers
/// and where padding is declared without an unpadded size, the numbers of entries and blocks; else
/// the bytes. A tail shorter than a block is left out.
inline Entries Layer::entries_per_block(std::size_t axis) const {
  std::int64_t entry = 0;
  for (std::size_t i = 0; i < tensors(); ++i) {
    if (axis >= tensor(i).rank())
      return Entries(reason("tensor {} has rank {}, no axis {}", i, tensor(i).rank(), axis));
    entry = detail::plus(entry, tensor(i).entry_bytes(axis));
  }
  if (entry <= 0 || num_blocks() <= 0)
    return Entries(
        reason("{} bytes for each entry and {} blocks make no page", entry, num_blocks()));
  const Entries k = placed_block_stride() ? by_placement(axis, entry)
                    : counts_blocks()     ? by_count(tensor(0).extent(axis), entry)
                                          : by_bytes(axis, entry);
  if (!k) return k;
  const std::int64_t need = detail::times(k.count(), num_blocks());
  for (std::size_t i = 0; i < tensors(); ++i) {
    const std::int64_t have = tensor(i).extent(axis);
    if (have < need || have - need >= k.count())
      return Entries(reason("axis {} has {} entries, {} blocks of {} need {}", axis, have,
                            num_blocks(), k.count(), need));
  }
  return k;
}

inline Entries Layer::by_count(std::int64_t have, std::int64_t entry) const {
  const std::int64_t k = have / num_blocks();
  if (k < 1 || have % num_blocks() != 0)
    return Entries(reason("{} entries are no multiple of {} blocks", have, num_blocks()));
  if (detail::times(k, entry) > page_bytes())
    return Entries(reason("{} entries for {} blocks: {} of {} bytes leave the page of {} bytes",
                          have, num_blocks(), k, entry, page_bytes()));
  return Entries(k);
}

inline Entries Layer::by_bytes(std::size_t axis, std::int64_t entry) const {
  const std::int64_t page = dense_page_bytes();
  if (page < entry || page % entry != 0)
    return Entries(reason("one entry of axis {} has {} bytes, the page of {} bytes is no multiple",
                          axis, entry, page));
  return Entries(page / entry);
}

/// The stride of a lone entry says nothing.
inline Entries Layer::by_placement(std::size_t axis, std::int64_t entry) const {
  const std::int64_t placed = *placed_block_stride();
  std::int64_t k = 0;
  for (std::size_t i = 0; i < tensors(); ++i) {
    const std::int64_t step = tensor(i).stride(axis);
    if (tensor(i).extent(axis) == 1) continue;
    if (step < 1 || placed < step || placed % step != 0 || (k != 0 && placed / step != k))
      return Entries(reason("blocks are placed {} bytes apart, axis {} of tensor {} steps {}",
                            placed, axis, i, step));
    k = placed / step;
  }
  if (k == 0) k = 1;
  if (!make_up_page(detail::times(k, entry)))
    return Entries(
        reason("as placed, {} entries of axis {} make a block; their {} bytes are no "
               "page of {}",
               k, axis, detail::times(k, entry), page_bytes()));
  return Entries(k);
}

inline bool Layer::make_up_page(std::int64_t bytes) const noexcept {
  if (is(Kind::mamba)) return bytes >= state_bytes().value_or(0) && bytes <= page_bytes();
  return bytes == page_bytes() || bytes == dense_page_bytes() ||
         (page_size_padded(0) != 0 && bytes < page_bytes());
}

inline std::optional<std::size_t> Layer::block_axis() const {
  if (tensors() == 0) return std::nullopt;
  const Tensor first = tensor(0);
  const auto carries = [this](std::size_t axis) {
    return static_cast<bool>(entries_per_block(axis));
  };
  for (std::size_t axis = 0; num_blocks() == 1 && axis < first.rank(); ++axis)
    if (first.extent(axis) == 1 && carries(axis)) return axis;
  for (std::size_t depth = 0; depth < first.rank(); ++depth) {
    const std::size_t axis = first.axis_at(depth);
    if (!carries(axis)) continue;
    const bool other = !placed_block_stride() && depth == 0 && axis > 0 && first.axis_at(1) < axis;
    if (other && carries(first.axis_at(1))) return std::nullopt;
    return axis;
  }
  return std::nullopt;
}

inline Box Layer::whole_page() const {
  Box out(0, 1, num_blocks(), page_bytes());
  if (tensors() == 0 || tensor(0).rank() == 0) return out.broken(reason("no tensor with axes"));
  const std::int64_t blocks = tensor(0).extent(0), step = tensor(0).stride(0);
  if (blocks < 1 || blocks != num_blocks())
    return out.broken(reason("axis 0 has {} entries for {} blocks", blocks, num_blocks()));
  std::int64_t low = detail::most, high = detail::least;
  for (std::size_t i = 0; i < tensors(); ++i) {
    const Tensor each = tensor(i);
    if (!each.shares_storage())
      return out.broken(reason("tensor {} lies in another storage than tensor 0", i));
    if (each.rank() == 0 || each.extent(0) != blocks || each.entry_bytes(0) < 1)
      return out.broken(
          reason("tensor {} has no entries for the {} blocks of tensor 0", i, blocks));
    if (blocks > 1 && each.stride(0) != step)
      return out.broken(reason("blocks are {} bytes apart in tensor 0 and {} in tensor {}", step,
                               each.stride(0), i));
    if (each.offset() < low) low = each.offset();
    const std::int64_t end = detail::plus(each.offset(), each.entry_span(0));
    if (end > high) high = end;
  }
  if (detail::minus(high, low) > page_bytes())
    return out.broken(reason("{} tensors span {} bytes of a block, the page has {}", tensors(),
                             detail::minus(high, low), page_bytes()));
  if (blocks > 1 && step < page_bytes())
    return out.broken(
        reason("blocks are {} bytes apart, less than the page of {} bytes", step, page_bytes()));
  out.offset_ = low;
  out.add({blocks, step, Role::block});
  out.add({page_bytes(), 1, Role::content});
  return out;
}

}  // namespace kvedit::rule
#pragma GCC visibility pop
