#include "present/recurrent.hpp"

#include <array>
#include <string_view>

#include "base/int128.hpp"
#include "base/text.hpp"
#include "present/roles.hpp"

namespace kvedit::present {
namespace {

/// Elements of a slot: the row over the slots, rounded up to the widest step that divides the
/// block's and stays in the page; 0 when none does.
std::int64_t slot_width(const LayerFacts& facts, const Box& box) {
  const std::int64_t item = box.item_bytes;
  const std::int64_t slots = facts.spec->block_size;
  const std::int64_t row = block_bytes(box) / item;
  const std::int64_t exact = row / slots + (row % slots != 0);
  const std::int64_t block_stride = axis_of(box, Role::block)->stride;
  for (const std::int64_t step : {16, 8, 4, 2}) {
    if (step % item != 0 || block_stride % step != 0) continue;
    const std::int64_t elements = step / item;
    const std::int64_t width = (exact + elements - 1) / elements * elements;
    if (Int128{width} * slots * item <= facts.spec->page_size_bytes) return width;
  }
  return 0;
}

}  // namespace

HeadOrder row_order(std::string_view layout) {
  constexpr std::array<std::string_view, 4> names = {"NHD", "LBNHC", "BLNHC", ""};
  for (const std::string_view name : names)
    if (layout == name) return HeadOrder::tokens_first;
  return HeadOrder::heads_first;
}

Shown states_in_page(const LayerFacts& facts, const ProvedPage& page, Cut cut) {
  const PartShape& owned = page.owned.front();
  const DType& registered = facts.tensors[0].dtype;
  const std::int64_t bytes = facts.spec->page_size_bytes;
  const bool whole =
      bytes % registered.itemsize == 0 && owned.block_stride % registered.itemsize == 0;
  const DType dtype = whole ? registered : *find_dtype("uint8");
  const std::int64_t stride = owned.block_stride / dtype.itemsize,
                     elements = bytes / dtype.itemsize;
  const std::int64_t slots = facts.spec->block_size;
  Shown shown;
  if (!whole || elements % 2 != 0 || elements / 2 % slots != 0) {
    shown.views.push_back(make_view(dtype, owned.tensor, owned.offset,
                                    {{page.blocks, stride, Role::block},
                                     {1, elements, Role::opaque},
                                     {elements, 1, Role::opaque}}));
    return shown;
  }
  shown.slots = slots;
  if (cut == Cut::tokens_first || cut == Cut::heads_first) {
    const HeadOrder order =
        cut == Cut::tokens_first ? HeadOrder::tokens_first : HeadOrder::heads_first;
    shown.views.push_back(
        make_view(dtype, owned.tensor, owned.offset,
                  slot_axes({page.blocks, stride, Role::block}, slots, elements / slots, order)));
    return shown;
  }
  const std::int64_t width = elements / 2 / slots;
  shown.views.push_back(make_view(dtype, owned.tensor, owned.offset,
                                  {{page.blocks, stride, Role::block},
                                   {2, elements / 2, Role::opaque},
                                   {slots, width, Role::opaque},
                                   {1, width, Role::opaque},
                                   {width, 1, Role::opaque}}));
  return shown;
}

Shown state_row(const LayerFacts& facts, const ProvedPage& page, HeadOrder order) {
  const Box& box = page.boxes.front();
  const DType& dtype = facts.tensors[box.tensor].dtype;
  Shown shown;
  const bool elements = box.item_bytes == dtype.itemsize;
  const std::int64_t width = page.window && elements && dense(box) ? slot_width(facts, box) : 0;
  if (width == 0) {
    Box registered = box;
    for (Axis& axis : registered.axes)
      if (axis.role != Role::block) axis.role = Role::opaque;
    shown.views.push_back(view_of(facts, registered));
    return shown;
  }
  const ViewAxis blocks{page.blocks, axis_of(box, Role::block)->stride / dtype.itemsize,
                        Role::block};
  shown.slots = facts.spec->block_size;
  shown.views.push_back(
      make_view(dtype, box.tensor, box.offset, slot_axes(blocks, shown.slots, width, order)));
  return shown;
}

Shown state_page(const LayerFacts& facts, const ProvedPage& page, HeadOrder order) {
  Shown shown = state_row(facts, page, order);
  if (!page.window) return shown;
  const PartShape& owned = page.owned.front();
  const DType& registered = facts.tensors[owned.tensor].dtype;
  const std::int64_t bytes = facts.spec->page_size_bytes;
  const bool divides =
      bytes % registered.itemsize == 0 && owned.block_stride % registered.itemsize == 0;
  const DType dtype = divides ? registered : *find_dtype("uint8");
  const std::int64_t elements = bytes / dtype.itemsize;
  const std::int64_t slots = elements % shown.slots == 0 ? shown.slots : 1;
  const ViewAxis blocks{page.blocks, owned.block_stride / dtype.itemsize, Role::block};
  shown.views = {make_view(dtype, owned.tensor, owned.offset,
                           slot_axes(blocks, slots, elements / slots, order))};
  return shown;
}

}  // namespace kvedit::present
