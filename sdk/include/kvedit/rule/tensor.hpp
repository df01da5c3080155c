/// One registered tensor of a layer: metadata, never its memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <kvedit/rule/box.hpp>
#include <kvedit/rule/value.hpp>
#include <string_view>

#pragma GCC visibility push(hidden)
namespace kvedit::rule {

/// Offsets and strides are bytes. An axis that is not there is a `Fault`.
class Tensor {
 public:
  /// @param layer a complete `kvedit_layer` (`Layer` makes one)
  Tensor(const kvedit_layer& layer, std::size_t index) noexcept : layer_(&layer), index_(index) {
    detail::take(facts_, detail::element(layer.tensors, layer.tensor_stride, index),
                 layer.tensor_stride);
    if (facts_.extents == nullptr || facts_.strides == nullptr) facts_.rank = 0;
  }

  std::size_t rank() const noexcept { return static_cast<std::size_t>(facts_.rank); }
  std::int64_t extent(std::size_t axis) const { return facts_.extents[known(axis)]; }
  std::int64_t stride(std::size_t axis) const { return facts_.strides[known(axis)]; }
  std::string_view dtype() const noexcept { return detail::view(facts_.dtype_name); }
  std::uint32_t dtype_code() const noexcept { return facts_.dtype_code; }  ///< as DLPack has them
  std::uint32_t dtype_bits() const noexcept { return facts_.dtype_bits; }
  std::uint32_t dtype_lanes() const noexcept { return facts_.dtype_lanes; }
  std::int64_t item_bytes() const noexcept { return facts_.item_bytes; }
  /// From the first element of the layer's first tensor, when both share a storage.
  std::int64_t offset() const noexcept { return facts_.offset; }
  bool shares_storage() const noexcept { return index_ == 0 || facts_.shares_storage != 0; }

  /// Bytes of the elements behind one index of `axis`; 0 when another axis is empty, the largest
  /// number when it is more.
  std::int64_t entry_bytes(std::size_t axis) const;
  /// From the first byte of an entry of `axis` to behind its last, gaps included.
  std::int64_t entry_span(std::size_t axis) const;
  /// 0 for the outermost axis in memory; axes of extent 1 come last, ties keep their order.
  std::size_t memory_position(std::size_t axis) const;
  /// The axis at this position.
  std::size_t axis_at(std::size_t memory_position) const;
  bool outermost(std::size_t axis) const { return memory_position(axis) == 0; }
  /// The elements follow each other in memory without gaps, in the order of the axes.
  bool contiguous() const;
  /// The elements fill one run of memory, in whatever order of the axes.
  bool dense() const;

  /// Names all axes of the tensor, in their order. Exactly one is `Role::block`.
  template <class... Roles>
  Box axes(Roles... roles) const {
    const Role list[] = {roles...};
    return named(list, sizeof...(roles));
  }
  /// Names axis `blocks` block and the others in their order.
  template <class... Roles>
  Box axes_beside(std::size_t blocks, Roles... others) const {
    Role list[sizeof...(others) + 1] = {others...};
    for (std::size_t at = sizeof...(others); at > known(blocks); --at) list[at] = list[at - 1];
    if (blocks <= sizeof...(others)) list[blocks] = Role::block;
    return named(list, sizeof...(others) + 1);
  }
  /// One entry of axis 0 for each block, holding its states: at least the state bytes (when the
  /// spec says how many), at most the page.
  Box state_row() const;

 private:
  std::size_t known(std::size_t axis) const {
    if (axis >= rank()) throw Fault(reason("axis {} of a tensor of rank {}", axis, rank()));
    return axis;
  }
  Box box() const noexcept {
    return {index_, item_bytes(), layer_->num_blocks, layer_->page_bytes};
  }
  Box named(const Role* roles, std::size_t count) const;

  const kvedit_layer* layer_;
  std::size_t index_;
  kvedit_tensor facts_ = {};
};

inline std::int64_t Tensor::entry_bytes(std::size_t axis) const {
  std::int64_t bytes = item_bytes();
  known(axis);
  for (std::size_t at = 0; at < rank(); ++at)
    if (at != axis) bytes = extent(at) < 1 ? 0 : detail::times(bytes, extent(at));
  return bytes;
}

inline std::int64_t Tensor::entry_span(std::size_t axis) const {
  std::int64_t span = item_bytes();
  known(axis);
  for (std::size_t at = 0; at < rank(); ++at)
    if (at != axis && extent(at) > 1)
      span = detail::plus(span, detail::times(extent(at) - 1, detail::size(stride(at))));
  return span;
}

inline std::size_t Tensor::memory_position(std::size_t axis) const {
  const bool wide = extent(axis) > 1;
  std::size_t before = 0;
  for (std::size_t at = 0; at < rank(); ++at) {
    const bool other = extent(at) > 1;
    const bool tied = wide == other && (!wide || stride(at) == stride(axis));
    const bool outside = wide == other ? wide && stride(at) > stride(axis) : other;
    if (outside || (tied && at < axis)) ++before;
  }
  return before;
}

inline std::size_t Tensor::axis_at(std::size_t memory_position) const {
  std::size_t axis = 0;
  known(memory_position);
  while (this->memory_position(axis) != memory_position) ++axis;
  return axis;
}

inline bool Tensor::contiguous() const {
  std::int64_t step = item_bytes();
  for (std::size_t at = rank(); at-- > 0;) {
    if (extent(at) == 1) continue;
    if (stride(at) != step) return false;
    step = detail::times(step, extent(at));
  }
  return true;
}

inline bool Tensor::dense() const {
  if (rank() > 64) return false;
  std::int64_t step = item_bytes();
  for (std::size_t depth = rank(); depth-- > 0;) {
    const std::size_t at = axis_at(depth);
    if (extent(at) == 1) continue;
    if (stride(at) != step) return false;
    step = detail::times(step, extent(at));
  }
  return true;
}

inline Box Tensor::named(const Role* roles, std::size_t count) const {
  Box out = box();
  if (count != rank() || count > KVEDIT_MAX_AXES)
    return out.broken(reason("{} axes named of a tensor of rank {}; a box has at most {}", count,
                             rank(), KVEDIT_MAX_AXES));
  std::size_t blocks = 0;
  for (std::size_t at = 0; at < count; ++at) {
    if (extent(at) < 1) return out.broken(reason("axis {} has {} entries", at, extent(at)));
    out.add({extent(at), stride(at), roles[at]});
    if (roles[at] == Role::block) ++blocks;
  }
  if (blocks != 1) return out.broken(reason("{} axes named block, not one", blocks));
  if (out.block_bytes() > layer_->page_bytes)
    return out.broken(reason("one entry of axis {} has {} bytes, the page {}",
                             out.find(Role::block), out.block_bytes(), layer_->page_bytes));
  return out;
}

inline Box Tensor::state_row() const {
  Box out = box();
  if (rank() < 1 || rank() > KVEDIT_MAX_AXES)
    return out.broken(reason("rank {} is no row for each block", rank()));
  const std::int64_t rows = extent(0), bytes = entry_bytes(0), span = entry_span(0);
  if (rows < 1 || rows != layer_->num_blocks)
    return out.broken(reason("axis 0 has {} entries for {} blocks, not one row for each", rows,
                             layer_->num_blocks));
  if (bytes < 1 || bytes > span)
    return out.broken(reason("a row of {} bytes cannot span {} bytes", bytes, span));
  if (span > layer_->page_bytes || (rows > 1 && span > stride(0)))
    return out.broken(reason("a row spans {} bytes of a page of {}, rows are {} bytes apart", span,
                             layer_->page_bytes, stride(0)));
  if (bytes < layer_->state_bytes)
    return out.broken(
        reason("a row of {} bytes is short of the states of {} bytes", bytes, layer_->state_bytes));
  for (std::size_t at = 0; at < rank(); ++at)
    out.add({extent(at), stride(at), at == 0 ? Role::block : Role::content});
  return out;
}

}  // namespace kvedit::rule
#pragma GCC visibility pop
