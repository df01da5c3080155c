/// How a tensor is to be read: a strided box, changed only by steps that keep each block's bytes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <kvedit/rule/numbers.hpp>
#include <kvedit/rule/text.hpp>

#pragma GCC visibility push(hidden)
namespace kvedit::rule {

struct Axis {
  std::int64_t extent = 1;
  std::int64_t stride = 0;  ///< bytes
  Role role = Role::content;
};

/// Made by `Tensor::axes`, `Tensor::state_row` and `Layer::whole_page`. A step that would leave
/// the page or the tensor gives a box that is false and says why; further steps keep that, and a
/// match with it becomes an error of the rule.
class Box {
 public:
  explicit operator bool() const noexcept { return why_.empty(); }
  const Reason& why() const noexcept { return why_; }

  std::size_t rank() const noexcept { return rank_; }
  const Axis& axis(std::size_t at) const {
    if (at >= rank_) throw Fault(reason("axis {} of a box of rank {}", at, rank_));
    return axes_[at];
  }
  std::size_t tensor() const noexcept { return tensor_; }
  std::int64_t offset() const noexcept { return offset_; }  ///< bytes
  std::int64_t item_bytes() const noexcept { return item_bytes_; }
  bool order_declared() const noexcept { return declared_; }
  /// The position of the axis with this role, or `rank()`.
  std::size_t find(Role role) const noexcept;
  /// Bytes behind one index of the block axis.
  std::int64_t block_bytes() const noexcept;

  /// Block *b* is entries *b·k … b·k+k−1* of the block axis; without this the host finds `k`.
  Box group(std::int64_t k) const { return paged(k, false); }
  /// Block *b* is entries *b, b+B, b+2B, …* of the block axis, `B` the number of blocks. The host
  /// cannot read this, so the order is marked as declared.
  Box striped(std::int64_t k) const { return paged(k, true); }
  /// Axis `at` becomes two: `extent / inner` entries outside, `inner` inside.
  Box split(std::size_t at, std::int64_t inner, Role outer_role, Role inner_role) const;
  /// Axes `at` and `at + 1` become one; they must follow each other in memory.
  Box merge(std::size_t at, Role role) const;
  /// The same bytes as items of another size, along the axis whose items touch.
  Box items_of(std::int64_t bytes) const;
  /// Marks the order of the bytes as the rule's word: the host proves the rest.
  Box declared() const {
    Box out = *this;
    out.declared_ = true;
    return out;
  }

 private:
  friend class Tensor;
  friend class Layer;

  Box(std::size_t tensor, std::int64_t item_bytes, std::int64_t blocks, std::int64_t page) noexcept
      : tensor_(tensor), item_bytes_(item_bytes), blocks_(blocks), page_(page) {}

  Box broken(const Reason& why) const {
    Box out = *this;
    out.why_ = why;
    return out;
  }
  void add(const Axis& axis) noexcept { axes_[rank_++] = axis; }
  void insert(std::size_t at, const Axis& axis) noexcept;
  Box paged(std::int64_t k, bool stripes) const;
  std::size_t dense_axis() const noexcept;

  std::size_t tensor_;
  std::int64_t item_bytes_;
  std::int64_t blocks_;
  std::int64_t page_;
  std::int64_t offset_ = 0;
  std::size_t rank_ = 0;
  bool declared_ = false;
  Axis axes_[KVEDIT_MAX_AXES];
  Reason why_;
};

inline std::size_t Box::find(Role role) const noexcept {
  std::size_t at = 0;
  while (at < rank_ && axes_[at].role != role) ++at;
  return at;
}

inline std::int64_t Box::block_bytes() const noexcept {
  std::int64_t bytes = item_bytes_;
  for (std::size_t at = 0; at < rank_; ++at)
    if (axes_[at].role != Role::block) bytes = detail::times(bytes, axes_[at].extent);
  return bytes;
}

inline void Box::insert(std::size_t at, const Axis& axis) noexcept {
  for (std::size_t i = rank_++; i > at; --i) axes_[i] = axes_[i - 1];
  axes_[at] = axis;
}

inline Box Box::paged(std::int64_t k, bool stripes) const {
  if (!*this) return *this;
  if (find(Role::kernel_page) != rank_)
    return broken(reason("the kernel pages have an axis already"));
  if (rank_ == KVEDIT_MAX_AXES) return broken(reason("no room for another axis than {}", rank_));
  if (k < 1) return broken(reason("{} kernel pages make no block", k));
  const std::size_t at = find(Role::block);
  const std::int64_t entries = axes_[at].extent;
  const std::int64_t wanted = detail::times(k, blocks_);
  if (entries < wanted || entries - wanted >= k)
    return broken(reason("the block axis has {} entries, {} blocks of {} kernel pages have {}",
                         entries, blocks_, k, wanted));
  if (detail::times(k, block_bytes()) > page_)
    return broken(
        reason("{} kernel pages of {} bytes leave the page of {} bytes", k, block_bytes(), page_));
  const std::int64_t step = axes_[at].stride;
  Box out = *this;
  out.axes_[at] = {blocks_, stripes ? step : detail::times(step, k), Role::block};
  out.insert(at + 1, {k, stripes ? detail::times(step, blocks_) : step, Role::kernel_page});
  out.declared_ = declared_ || stripes;
  return out;
}

inline Box Box::split(std::size_t at, std::int64_t inner, Role outer_role, Role inner_role) const {
  if (!*this) return *this;
  const Axis whole = axis(at);
  if (rank_ == KVEDIT_MAX_AXES) return broken(reason("no room for another axis than {}", rank_));
  if (inner < 1 || whole.extent % inner != 0)
    return broken(reason("axis {} of {} entries is no multiple of {}", at, whole.extent, inner));
  if ((whole.role == Role::block) != (outer_role == Role::block) || inner_role == Role::block)
    return broken(reason("a split of axis {} must keep the blocks outside", at));
  Box out = *this;
  out.axes_[at] = {whole.extent / inner, detail::times(whole.stride, inner), outer_role};
  out.insert(at + 1, {inner, whole.stride, inner_role});
  return out;
}

inline Box Box::merge(std::size_t at, Role role) const {
  if (!*this) return *this;
  const Axis outer = axis(at);
  const Axis inner = axis(at + 1);
  if (outer.role == Role::block || inner.role == Role::block || role == Role::block)
    return broken(reason("the block axis cannot be merged with another"));
  const std::int64_t tight = detail::times(inner.extent, inner.stride);
  if (outer.extent != 1 && inner.extent != 1 && outer.stride != tight)
    return broken(
        reason("axis {} steps {} bytes and axis {} covers {}: they do not follow each other", at,
               outer.stride, at + 1, tight));
  Box out = *this;
  out.axes_[at] = {detail::times(outer.extent, inner.extent),
                   inner.extent == 1 ? outer.stride : inner.stride, role};
  for (std::size_t i = at + 1; i + 1 < rank_; ++i) out.axes_[i] = axes_[i + 1];
  --out.rank_;
  return out;
}

inline std::size_t Box::dense_axis() const noexcept {
  std::size_t found = rank_;
  for (std::size_t at = 0; at < rank_; ++at)
    if (axes_[at].stride == item_bytes_ && axes_[at].role != Role::block &&
        (found == rank_ || axes_[at].extent > 1))
      found = at;
  return found;
}

inline Box Box::items_of(std::int64_t bytes) const {
  if (!*this) return *this;
  const std::size_t dense = dense_axis();
  if (bytes < 1 || dense == rank_)
    return broken(reason("items of {} bytes cannot become items of {}", item_bytes_, bytes));
  const std::int64_t run = detail::times(axes_[dense].extent, item_bytes_);
  if (run % bytes != 0)
    return broken(reason("a run of {} bytes is no multiple of items of {} bytes", run, bytes));
  for (std::size_t at = 0; at < rank_; ++at)
    if (at != dense && axes_[at].extent > 1 && axes_[at].stride % bytes != 0)
      return broken(reason("axis {} steps {} bytes, no multiple of items of {} bytes", at,
                           axes_[at].stride, bytes));
  if (offset_ % bytes != 0)
    return broken(reason("offset {} is no multiple of items of {} bytes", offset_, bytes));
  Box out = *this;
  out.item_bytes_ = bytes;
  out.axes_[dense] = {run / bytes, bytes, axes_[dense].role};
  return out;
}

}  // namespace kvedit::rule
#pragma GCC visibility pop
