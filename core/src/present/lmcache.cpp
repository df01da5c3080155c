#include "present/lmcache.hpp"

#include <algorithm>
#include <numeric>
#include <span>
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

/// Axes as LMCache sorts them: by stride, one of extent 1 behind another of its stride.
std::vector<std::size_t> sorted_axes(const ViewShape& view) {
  std::vector<std::size_t> sorted(view.shape.size());
  std::iota(sorted.begin(), sorted.end(), std::size_t{0});
  std::stable_sort(sorted.begin(), sorted.end(), [&](std::size_t a, std::size_t b) {
    if (view.stride[a] != view.stride[b]) return view.stride[a] > view.stride[b];
    return view.shape[a] != 1 && view.shape[b] == 1;
  });
  return sorted;
}

/// Whether K and V lie apart, each block's part of either in a run of its own.
bool in_planes(const ViewShape& view, const std::vector<std::size_t>& sorted) {
  return sorted.size() > 2 && view.shape[sorted[0]] == 2 && sorted[1] == view.block_axis;
}

/// Slots that LMCache counts in a block; 0 where it has no format for the view, or takes blocks for
/// planes, or refuses a gap between blocks.
std::int64_t slots_counted(const ViewShape& view, HeadOrder order) {
  constexpr std::size_t latent = 3, packed = 4, halves = 5, planes_of_one = 6;
  const std::vector<std::size_t> sorted = sorted_axes(view);
  const std::size_t rank = sorted.size();
  const auto extent = [&](std::size_t at) { return view.shape[sorted[at]]; };
  const bool heads_first = order == HeadOrder::heads_first;
  if (rank == halves) {
    const bool planes = in_planes(view, sorted);
    const bool whole = extent(1) == 2 && sorted[0] == view.block_axis && extent(0) != 2 &&
                       view.stride[sorted[0]] == 2 * view.stride[sorted[1]];
    return planes || whole ? extent(heads_first ? 3 : 2) : 0;
  }
  if (rank == planes_of_one && in_planes(view, sorted) && extent(3) == 1) return extent(4);
  if (rank < latent || rank > packed || sorted[0] != view.block_axis) return 0;
  return extent(rank == packed && heads_first ? 2 : 1);
}

/// Elements of a run of bytes that the axes make; 0 when they make none.
std::int64_t run_of(const ViewShape& view, std::vector<std::size_t>::const_iterator axis,
                    std::vector<std::size_t>::const_iterator end) {
  std::int64_t run = 1;
  while (end != axis) {
    --end;
    if (view.shape[*end] == 1) continue;
    if (view.stride[*end] != run) return 0;
    run *= view.shape[*end];
  }
  return run;
}

/// The view with each block, or each plane of it, cut in slots of one head; nothing when they do
/// not divide it.
std::optional<ViewShape> in_slots(const ViewShape& view, std::int64_t slots, HeadOrder order) {
  const std::vector<std::size_t> sorted = sorted_axes(view);
  const bool planes = in_planes(view, sorted);
  if (!planes && sorted[0] != view.block_axis) return std::nullopt;
  const std::int64_t run = run_of(view, sorted.begin() + (planes ? 2 : 1), sorted.end());
  if (run == 0 || run % slots != 0) return std::nullopt;
  std::vector<ViewAxis> axes;
  if (planes) axes.push_back({2, view.stride[sorted[0]], Role::opaque});
  const ViewAxis blocks{view.shape[view.block_axis], view.stride[view.block_axis], Role::block};
  for (const ViewAxis& axis : slot_axes(blocks, slots, run / slots, order)) axes.push_back(axis);
  return make_view(view.dtype, view.tensor, view.offset, std::span<const ViewAxis>(axes));
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

void cut_miscounted(const LayerClass& of, HeadOrder order, std::vector<ViewShape>& views) {
  if (views.size() > 1) order = HeadOrder::tokens_first;  // of lists it knows that order only
  const std::int64_t tokens = of.facts.spec->block_size;
  const bool finer = of.facts.slots > tokens && of.facts.slots % tokens == 0;
  const std::int64_t slots = finer ? tokens : of.facts.slots;
  const auto counted = [&](const ViewShape& view) { return slots_counted(view, order) == slots; };
  if (std::all_of(views.begin(), views.end(), counted)) return;
  std::vector<ViewShape> cut;
  for (const ViewShape& view : views) {
    auto made = in_slots(view, slots, order);
    if (!made) return;
    cut.push_back(*std::move(made));
  }
  views = std::move(cut);
}

void settle_lone_block(std::vector<ViewShape>& views) {
  for (ViewShape& view : views) {
    if (view.shape[view.block_axis] != 1 || view.block_axis != 0) continue;
    for (std::size_t a = 1; a < view.shape.size(); ++a)
      view.stride[0] = std::max(view.stride[0], view.shape[a] * view.stride[a]);
  }
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
