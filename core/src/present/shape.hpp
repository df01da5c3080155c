#pragma once

#include <array>
#include <initializer_list>
#include <span>
#include <vector>

#include "model/edit.hpp"
#include "model/head_order.hpp"

namespace kvedit::present {

/// What a page looks like to consumers.
struct Shown {
  std::vector<ViewShape> views;
  std::int64_t slots = 1;
  bool opaque = true;
};

/// How synthetic axes cut a page that is one run of bytes: in two halves, as K and V had them
/// before they were packed, or in slots and one head, in either order or as tokens and heads lie in
/// memory.
enum class Cut { halves, by_memory, tokens_first, heads_first };

struct ViewAxis {
  std::int64_t extent;
  std::int64_t stride;  // elements
  Role role;
};

ViewShape make_view(const DType& dtype, std::uint32_t tensor, std::int64_t offset_bytes,
                    std::span<const ViewAxis> axes);
ViewShape make_view(const DType& dtype, std::uint32_t tensor, std::int64_t offset_bytes,
                    std::initializer_list<ViewAxis> axes);

/// Slots of one opaque head, in the order in which a consumer reads them.
std::array<ViewAxis, 4> slot_axes(const ViewAxis& blocks, std::int64_t slots, std::int64_t width,
                                  HeadOrder order);

/// The box as a view, axis by axis, in the tensor's dtype where items are its elements.
ViewShape view_of(const LayerFacts& facts, const Box& box);

const Axis* axis_of(const Box& box, Role role);

/// Bytes of one block of the box, and whether they are one run.
std::int64_t block_bytes(const Box& box);
bool dense(const Box& box);

/// The box with its kernel pages merged into the axis they continue; itself when there is none.
Box merge_kernel_pages(const Box& box);

Failure cannot_show(std::string message, std::vector<Fact> facts);

}  // namespace kvedit::present
