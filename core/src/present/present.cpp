#include "present/present.hpp"

#include "base/text.hpp"
#include "model/content.hpp"
#include "present/attention.hpp"
#include "present/lmcache.hpp"
#include "present/recurrent.hpp"
#include "present/roles.hpp"

namespace kvedit::present {
namespace {

/// The payload as one opaque slot, in the registered dtype where that divides it.
Shown one_slot(const LayerClass& of) {
  const ProvedPage& page = *of.page;
  const PartShape& payload = page.payload.front();
  const DType& own = of.facts.tensors[payload.tensor].dtype;
  const bool divides =
      page.block_bytes % own.itemsize == 0 && payload.block_stride % own.itemsize == 0;
  const DType dtype = divides ? own : *find_dtype("uint8");
  const std::int64_t elements = page.block_bytes / dtype.itemsize;
  Shown shown;
  shown.slots = of.facts.spec->recurrent() ? 1 : of.facts.slots;
  shown.views.push_back(
      make_view(dtype, payload.tensor, payload.offset,
                {{page.blocks, payload.block_stride / dtype.itemsize, Role::block},
                 {1, elements, Role::opaque},
                 {elements, 1, Role::opaque}}));
  return shown;
}

Shown shown_as(const LayerClass& of, Cut cut) {
  const ProvedPage& page = *of.page;
  const bool claimed = of.rule >= 0;
  if (claimed && of.facts.spec->recurrent()) {
    if (of.facts.tensors.size() == 1) return state_row(of.facts, page, row_order(of.facts.layout));
    if (page.window) return states_in_page(of.facts, page, cut);
  }
  if (hides_payload(page)) return one_slot(of);  // no axis of theirs can show it
  if (!axis_of(page.boxes.front(), Role::kernel_page)) return as_registered(of.facts, page);
  if (auto shown = sub_paged(of.facts, page, cut)) return *std::move(shown);
  return one_slot(of);
}

Shown for_lmcache(const LayerClass& of, const Reader& reader) {
  const Cut cut = lmcache_cut(of, reader.order);
  if (of.rule >= 0 && of.facts.spec->recurrent() && of.facts.tensors.size() == 1) {
    if (reader.recurrent_rows == RecurrentRows::page && !of.facts.listed)
      return state_page(of.facts, *of.page, reader.order);
    Shown row = state_row(of.facts, *of.page, reader.order);
    if (of.facts.listed && of.page->window)
      row.views = states_in_page(of.facts, *of.page, cut).views;  // the slots stay the row's
    return row;
  }
  Shown shown = shown_as(of, cut);
  if (of.facts.spec->recurrent()) return shown;
  settle_lone_block(shown.views);
  order_lone_head(shown.views, reader.order);
  cut_miscounted(of, reader.order, shown.views);
  return shown;
}

Shown shown_in(const LayerClass& of, Profile profile, const Reader& reader) {
  if (profile == Profile::lmcache) return for_lmcache(of, reader);
  return shown_as(of, profile == Profile::packed ? Cut::by_memory : Cut::halves);
}

/// Whole pages as bytes, whatever lies in them.
std::variant<std::vector<ViewShape>, Failure> as_bytes(const LayerClass& of) {
  const ProvedPage& page = *of.page;
  if (!page.window) {
    std::size_t ranges = 0;
    for (const PartShape& part : page.payload) ranges += part.ranges.size();
    return cannot_show(text("profile bytes shows one run of bytes a block, and its block lies in ",
                            ranges, " runs; use profile native, or the page map"),
                       {{"runs", static_cast<std::int64_t>(ranges)}});
  }
  const PartShape& owned = page.owned.front();
  return std::vector{make_view(*find_dtype("uint8"), owned.tensor, owned.offset,
                               {{page.blocks, owned.block_stride, Role::block},
                                {of.facts.spec->page_size_bytes, 1, Role::opaque}})};
}

/// Of a private order the shape tells the heads, and nothing inside them.
void unname_elements(std::vector<ViewShape>& views) {
  for (ViewShape& view : views)
    for (Role& role : view.axes)
      if (role == Role::token || role == Role::kv || role == Role::content) role = Role::opaque;
}

}  // namespace

std::optional<Failure> present(LayerClass& of, Profile profile, const Reader& reader) {
  if (of.rule < 0)
    for (Box& box : of.page->boxes) name_axes(of.facts, box);
  Shown page = shown_in(of, profile, reader);
  of.slots = page.slots;
  of.opaque = page.opaque;
  of.views = std::move(page.views);
  if (of.facts.private_order) unname_elements(of.views);
  if (profile != Profile::bytes) return std::nullopt;
  auto bytes = as_bytes(of);
  if (auto* failure = std::get_if<Failure>(&bytes)) return *failure;
  of.views = std::get<std::vector<ViewShape>>(std::move(bytes));
  return std::nullopt;
}

}  // namespace kvedit::present
