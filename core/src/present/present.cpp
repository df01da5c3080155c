#include "present/present.hpp"

#include "base/text.hpp"
#include "present/attention.hpp"
#include "present/recurrent.hpp"

namespace kvedit::present {
namespace {

std::variant<Shown, Failure> native(const LayerClass& of, bool packed) {
  const ProvedPage& page = *of.page;
  const bool claimed = of.rule >= 0;
  if (claimed && of.facts.spec->recurrent()) {
    if (of.facts.tensors.size() == 1) return state_row(of.facts, page);
    if (page.window) return states_in_page(of.facts, page);
  }
  if (page.kernel_pages > 1) return sub_paged(of.facts, page, packed);
  return as_registered(of.facts, page, claimed);
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

}  // namespace

std::optional<Failure> present(LayerClass& of, Profile profile) {
  auto shown = native(of, profile == Profile::packed);
  if (auto* failure = std::get_if<Failure>(&shown)) {
    // What native cannot cut, bytes can still show; the page itself does not depend on the profile.
    if (profile != Profile::bytes) return *failure;
    shown = Shown{{}, of.facts.spec->recurrent() ? 1 : of.facts.slots, true};
  }
  Shown& page = std::get<Shown>(shown);
  of.slots = page.slots;
  of.opaque = page.opaque;
  of.views = std::move(page.views);
  if (profile != Profile::bytes) return std::nullopt;
  auto bytes = as_bytes(of);
  if (auto* failure = std::get_if<Failure>(&bytes)) return *failure;
  of.views = std::get<std::vector<ViewShape>>(std::move(bytes));
  return std::nullopt;
}

}  // namespace kvedit::present
