#include "present/attention.hpp"

#include "model/content.hpp"
#include "model/elements.hpp"

namespace kvedit::present {
namespace {

bool heads_first(const Box& box) {
  const Axis* head = axis_of(box, Role::head);
  const Axis* token = axis_of(box, Role::token);
  return head && token && head->stride > token->stride;
}

bool halves_divide(const LayerFacts& facts, const Box& box) {
  const std::int64_t elements = block_bytes(box) / facts.tensors[box.tensor].dtype.itemsize;
  return elements % facts.slots == 0 && elements / facts.slots % 2 == 0;
}

/// Nothing when the slots do not divide a block.
std::optional<Shown> synthetic(const LayerFacts& facts, const ProvedPage& page, const Box& box,
                               Cut cut) {
  const DType& dtype = facts.tensors[box.tensor].dtype;
  const std::int64_t elements = block_bytes(box) / dtype.itemsize;
  const std::int64_t slots = facts.slots;
  if (elements % slots != 0) return std::nullopt;
  const bool halves = cut == Cut::halves && halves_divide(facts, box);
  const std::int64_t width = elements / slots / (halves ? 2 : 1);
  const ViewAxis blocks{page.blocks, axis_of(box, Role::block)->stride / dtype.itemsize,
                        Role::block};
  const ViewAxis tokens{slots, width, Role::opaque}, content{width, 1, Role::opaque};
  Shown shown;
  shown.slots = slots;
  if (halves) {
    shown.views.push_back(make_view(
        dtype, box.tensor, box.offset,
        {blocks, {2, elements / 2, Role::opaque}, tokens, {1, width, Role::opaque}, content}));
    return shown;
  }
  const bool heads_outside =
      cut == Cut::heads_first || (cut != Cut::tokens_first && heads_first(box));
  const HeadOrder order = heads_outside ? HeadOrder::heads_first : HeadOrder::tokens_first;
  shown.views.push_back(
      make_view(dtype, box.tensor, box.offset, slot_axes(blocks, slots, width, order)));
  return shown;
}

/// K and V in planes outside the block axis, each with one run of bytes a block.
bool dense_planes(const Box& box) {
  const Axis* planes = axis_of(box, Role::kv);
  const Axis* blocks = axis_of(box, Role::block);
  if (!planes || planes->extent != 2 || planes->stride <= blocks->stride) return false;
  Box plane = box;
  for (Axis& axis : plane.axes)
    if (axis.role == Role::kv) axis.extent = 1;
  return dense(plane);
}

/// One slot for each plane where the states do not divide it.
Shown synthetic_planes(const LayerFacts& facts, const ProvedPage& page, const Box& box) {
  const DType& dtype = facts.tensors[box.tensor].dtype;
  const std::int64_t elements = block_bytes(box) / 2 / dtype.itemsize;
  const std::int64_t cuts = elements % facts.slots == 0 ? facts.slots : 1;
  const std::int64_t width = elements / cuts;
  Shown shown;
  shown.slots = facts.slots;
  shown.views.push_back(
      make_view(dtype, box.tensor, box.offset,
                {{2, axis_of(box, Role::kv)->stride / dtype.itemsize, Role::opaque},
                 {page.blocks, axis_of(box, Role::block)->stride / dtype.itemsize, Role::block},
                 {cuts, width, Role::opaque},
                 {1, width, Role::opaque},
                 {width, 1, Role::opaque}}));
  return shown;
}

/// Kernel pages of one state each are the states.
void name_states(Box& box, std::int64_t slots) {
  if (axis_of(box, Role::token)) return;
  for (Axis& axis : box.axes)
    if (axis.role == Role::kernel_page && axis.extent == slots) axis.role = Role::token;
}

}  // namespace

Shown as_registered(const LayerFacts& facts, const ProvedPage& page) {
  Shown shown;
  shown.slots = facts.spec->recurrent() ? 1 : facts.slots;
  shown.opaque = !plain_content(facts, page.boxes);
  for (const Box& box : page.boxes) shown.views.push_back(view_of(facts, box));
  return shown;
}

std::optional<Shown> sub_paged(const LayerFacts& facts, const ProvedPage& page, Cut cut) {
  const Box& box = page.boxes.front();
  ProvedPage merged = page;
  for (Box& each : merged.boxes) {
    each = merge_kernel_pages(each);
    name_states(each, facts.slots);
  }
  const bool apart = axis_of(merged.boxes.front(), Role::kernel_page) != nullptr;
  const bool one_entry = page.kernel_pages == 1;  // the tensor itself has an axis for the pages
  const bool one_box =
      page.boxes.size() == 1 && box.item_bytes == facts.tensors[box.tensor].dtype.itemsize;
  if (one_box && !is_latent(*facts.spec) && dense(box) && (apart || !one_entry)) {
    const bool names_say_more = one_entry && cut == Cut::halves && !halves_divide(facts, box);
    auto shown = names_say_more ? std::nullopt : synthetic(facts, page, box, cut);
    if (!one_entry || shown) return shown;
  } else if (one_box && apart && dense_planes(box)) {
    return synthetic_planes(facts, page, box);
  }
  return as_registered(facts, merged);
}

}  // namespace kvedit::present
