#include "present/recurrent.hpp"

#include <array>
#include <string_view>

#include "base/int128.hpp"
#include "base/text.hpp"
#include "present/roles.hpp"

namespace kvedit::present {
namespace {

bool tokens_before_heads(std::string_view layout) {
  constexpr std::array<std::string_view, 4> names = {"NHD", "LBNHC", "BLNHC", ""};
  for (const std::string_view name : names)
    if (layout == name) return true;
  return false;
}

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

std::variant<Shown, Failure> states_in_page(const LayerFacts& facts, const ProvedPage& page) {
  const PartShape& owned = page.owned.front();
  const DType& dtype = facts.tensors[0].dtype;
  const std::int64_t item = dtype.itemsize;
  const std::int64_t bytes = facts.spec->page_size_bytes;
  if (bytes % item != 0 || owned.block_stride % item != 0)
    return cannot_show(
        text("its page of ", bytes, " bytes, ", owned.block_stride,
             " apart, is no whole number of ", dtype.name, " elements; use profile bytes"),
        {{"page_size_bytes", bytes}, {"itemsize", item}});
  const std::int64_t stride = owned.block_stride / item, elements = bytes / item;
  const std::int64_t slots = facts.spec->block_size;
  Shown shown;
  if (elements % 2 != 0 || elements / 2 % slots != 0) {
    shown.views.push_back(make_view(dtype, owned.tensor, owned.offset,
                                    {{page.blocks, stride, Role::block},
                                     {1, elements, Role::opaque},
                                     {elements, 1, Role::opaque}}));
    return shown;
  }
  const std::int64_t width = elements / 2 / slots;
  shown.slots = slots;
  shown.views.push_back(make_view(dtype, owned.tensor, owned.offset,
                                  {{page.blocks, stride, Role::block},
                                   {2, elements / 2, Role::opaque},
                                   {slots, width, Role::opaque},
                                   {1, width, Role::opaque},
                                   {width, 1, Role::opaque}}));
  return shown;
}

Shown state_row(const LayerFacts& facts, const ProvedPage& page) {
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
  const std::int64_t slots = facts.spec->block_size;
  const ViewAxis blocks{page.blocks, axis_of(box, Role::block)->stride / dtype.itemsize,
                        Role::block};
  const ViewAxis tokens{slots, width, Role::opaque}, content{width, 1, Role::opaque};
  shown.slots = slots;
  if (tokens_before_heads(facts.layout))
    shown.views.push_back(make_view(dtype, box.tensor, box.offset,
                                    {blocks, tokens, {1, width, Role::opaque}, content}));
  else
    shown.views.push_back(make_view(dtype, box.tensor, box.offset,
                                    {blocks, {1, slots * width, Role::opaque}, tokens, content}));
  return shown;
}

}  // namespace kvedit::present
