#include "present/lmcache.hpp"

#include <utility>

namespace kvedit::present {
namespace {

/// Bytes from block to block of what synthetic axes cut, and how many of them they show.
struct Step {
  std::int64_t stride, shown;
};

Step step_of(const LayerClass& of) {
  if (of.facts.spec->recurrent())
    return {of.page->owned.front().block_stride, of.facts.spec->page_size_bytes};
  const Box& box = of.page->boxes.front();
  return {axis_of(box, Role::block)->stride, block_bytes(box)};
}

/// Of the two axes between blocks and dense content: the one of extent 1, and the other.
std::optional<std::pair<std::size_t, std::size_t>> lone_axis(const ViewShape& view) {
  constexpr std::size_t packed_rank = 4;
  if (view.shape.size() != packed_rank || view.block_axis != 0) return std::nullopt;
  const std::size_t lone = view.shape[1] == 1 ? 1 : 2, other = 3 - lone;
  const bool innermost = view.stride[3] == 1 && view.stride[other] >= view.shape[3];
  if (view.shape[lone] != 1 || view.shape[other] == 1 || !innermost) return std::nullopt;
  return std::pair{lone, other};
}

/// Ranks that LMCache has a format for, where the axes behind the blocks agree.
bool readable(const ViewShape& view) {
  constexpr std::size_t packed = 4, halves = 5;
  const std::size_t rank = view.shape.size();
  return rank <= packed || (rank == halves && view.shape[1] == 2);
}

}  // namespace

Cut lmcache_cut(const LayerClass& of, HeadOrder order) {
  if (order != HeadOrder::tokens_first) return Cut::heads_first;
  const auto [stride, shown] = step_of(of);
  const std::int64_t slots =
      of.facts.spec->recurrent() ? of.facts.spec->block_size : of.facts.slots;
  const Int128 halves = Int128{2} * slots * of.facts.tensors.front().dtype.itemsize;
  const bool whole = shown % halves == 0;
  return of.page->blocks > 2 && stride == shown && whole ? Cut::halves : Cut::tokens_first;
}

void cut_unread(const LayerClass& of, HeadOrder order, Shown& shown) {
  if (!shown.opaque || shown.views.size() != 1 || of.page->boxes.size() != 1) return;
  const ViewShape& view = shown.views.front();
  const Box& box = of.page->boxes.front();
  const std::int64_t elements = block_bytes(box) / view.dtype.itemsize;
  if (readable(view) || !dense(box) || elements % shown.slots != 0) return;
  const ViewAxis blocks{of.page->blocks, view.stride[view.block_axis], Role::block};
  const DType dtype = view.dtype;
  shown.views = {make_view(dtype, box.tensor, box.offset,
                           slot_axes(blocks, shown.slots, elements / shown.slots, order))};
}

void order_lone_head(std::vector<ViewShape>& views, HeadOrder order) {
  for (ViewShape& view : views) {
    const auto axes = lone_axis(view);
    if (!axes) continue;
    const auto [lone, other] = *axes;
    const bool is_token = view.axes[lone] == Role::token;
    const bool outside = (order == HeadOrder::tokens_first) == is_token;
    view.stride[lone] = outside ? view.stride[other] * view.shape[other] : view.stride[other];
  }
}

}  // namespace kvedit::present
