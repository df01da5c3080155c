#include "present/shape.hpp"

#include <algorithm>

#include "base/runs.hpp"

namespace kvedit::present {

ViewShape make_view(const DType& dtype, std::uint32_t tensor, std::int64_t offset_bytes,
                    std::initializer_list<ViewAxis> axes) {
  return make_view(dtype, tensor, offset_bytes, std::span(axes.begin(), axes.size()));
}

ViewShape make_view(const DType& dtype, std::uint32_t tensor, std::int64_t offset_bytes,
                    std::span<const ViewAxis> axes) {
  ViewShape view;
  view.dtype = dtype;
  view.tensor = tensor;
  view.offset = offset_bytes;
  constexpr std::size_t usual_rank = 5;
  view.shape.reserve(usual_rank);
  view.stride.reserve(usual_rank);
  view.axes.reserve(usual_rank);
  for (const ViewAxis& axis : axes) {
    if (axis.role == Role::block) view.block_axis = static_cast<std::uint32_t>(view.shape.size());
    view.shape.push_back(axis.extent);
    view.stride.push_back(axis.stride);
    view.axes.push_back(axis.role);
  }
  return view;
}

std::array<ViewAxis, 4> slot_axes(const ViewAxis& blocks, std::int64_t slots, std::int64_t width,
                                  HeadOrder order) {
  const ViewAxis tokens{slots, width, Role::opaque}, content{width, 1, Role::opaque};
  if (order == HeadOrder::tokens_first) return {blocks, tokens, {1, width, Role::opaque}, content};
  return {blocks, {1, slots * width, Role::opaque}, tokens, content};
}

ViewShape view_of(const LayerFacts& facts, const Box& box) {
  const DType& own = facts.tensors[box.tensor].dtype;
  const bool elements = box.item_bytes == own.itemsize;
  const DType dtype = elements ? own : *find_dtype("uint8");
  ViewShape view = make_view(dtype, box.tensor, box.offset, std::span<const ViewAxis>());
  for (const Axis& axis : box.axes) {
    if (axis.role == Role::block) view.block_axis = static_cast<std::uint32_t>(view.shape.size());
    view.shape.push_back(axis.extent);
    view.stride.push_back(axis.stride / dtype.itemsize);
    view.axes.push_back(axis.role);
  }
  if (!elements && box.item_bytes > 1) {
    view.shape.push_back(box.item_bytes);
    view.stride.push_back(1);
    view.axes.push_back(Role::content);
  }
  return view;
}

const Axis* axis_of(const Box& box, Role role) {
  const auto found = std::find_if(box.axes.begin(), box.axes.end(),
                                  [&](const Axis& axis) { return axis.role == role; });
  return found == box.axes.end() ? nullptr : found;
}

std::int64_t block_bytes(const Box& box) {
  std::int64_t bytes = box.item_bytes;
  for (const Axis& axis : box.axes)
    if (axis.role != Role::block) bytes *= axis.extent;
  return bytes;
}

bool dense(const Box& box) {
  Strided inner(box.item_bytes);
  for (const Axis& axis : box.axes)
    if (axis.role != Role::block) inner.add({axis.extent, axis.stride});
  inner.merge();
  return inner.dense();
}

Box merge_kernel_pages(const Box& box) {
  Box merged = box;
  for (std::size_t p = 0; p < merged.axes.size(); ++p) {
    if (merged.axes[p].role != Role::kernel_page) continue;
    const Axis pages = merged.axes[p];
    for (Axis& axis : merged.axes) {
      if (axis.role != Role::token || axis.stride * axis.extent != pages.stride) continue;
      axis.extent *= pages.extent;
      merged.axes.erase(p);
      return merged;
    }
  }
  return merged;
}

Failure cannot_show(std::string message, std::vector<Fact> facts) {
  return {Code::profile, std::move(message), std::move(facts)};
}

}  // namespace kvedit::present
