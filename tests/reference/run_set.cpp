#include "reference/run_set.hpp"

#include <algorithm>

#include "reference/memory.hpp"

namespace kvedit::reference {
namespace {

constexpr Wide far = Wide{1} << 62;

/// The axes beside the block axis, innermost first, with strides in bytes.
struct Axes {
  std::vector<std::int64_t> extents;
  std::vector<std::int64_t> strides;
  std::int64_t run = 0;    // bytes that lie side by side
  std::int64_t count = 1;  // of runs
};

std::optional<Axes> axes_of(const View& view, std::size_t most) {
  Axes axes;
  axes.run = view.dtype->itemsize;
  std::vector<std::size_t> order;
  for (std::size_t i = 0; i < view.shape.size(); ++i)
    if (i != view.block_axis && view.shape[i] != 1) order.push_back(i);
  std::sort(order.begin(), order.end(),
            [&](std::size_t a, std::size_t b) { return view.stride[a] < view.stride[b]; });
  for (const std::size_t i : order) {
    const Wide stride = Wide{view.stride[i]} * view.dtype->itemsize;
    if (view.shape[i] < 1 || stride * view.shape[i] > far || stride < 0) return std::nullopt;
    if (axes.extents.empty() && stride == axes.run) {
      axes.run *= view.shape[i];
      continue;
    }
    axes.extents.push_back(view.shape[i]);
    axes.strides.push_back(static_cast<std::int64_t>(stride));
    if (Wide{axes.count} * view.shape[i] > Wide{static_cast<std::int64_t>(most)})
      return std::nullopt;
    axes.count *= view.shape[i];
  }
  return axes;
}

void add_runs(const View& view, const Axes& axes, MovingRuns& to) {
  const std::int64_t base = view.storage_offset * std::int64_t{view.dtype->itemsize};
  const std::int64_t step = view.stride[view.block_axis] * std::int64_t{view.dtype->itemsize};
  for (std::int64_t number = 0; number < axes.count; ++number) {
    std::int64_t begin = base;
    std::int64_t left = number;
    for (std::size_t i = 0; i < axes.extents.size(); ++i) {
      begin += left % axes.extents[i] * axes.strides[i];
      left /= axes.extents[i];
    }
    to.runs.push_back({view.storage, begin, begin + axes.run});
    to.strides.push_back(step);
  }
}

}  // namespace

bool unite(RunSet& runs) {
  if (!std::is_sorted(runs.begin(), runs.end())) std::sort(runs.begin(), runs.end());
  bool twice = false;
  std::size_t kept = 0;
  for (std::size_t i = 1; i < runs.size(); ++i) {
    Run& last = runs[kept];
    if (runs[i].storage != last.storage || runs[i].begin > last.end) {
      runs[++kept] = runs[i];
      continue;
    }
    twice = twice || runs[i].begin < last.end;
    last.end = std::max(last.end, runs[i].end);
  }
  if (!runs.empty()) runs.resize(kept + 1);
  return twice;
}

bool contains(const RunSet& outer, const RunSet& inner) {
  std::size_t at = 0;
  for (const Run& run : inner) {
    while (at < outer.size() && (outer[at].storage < run.storage ||
                                 (outer[at].storage == run.storage && outer[at].end < run.end)))
      ++at;
    if (at == outer.size() || outer[at].storage != run.storage || outer[at].begin > run.begin)
      return false;
  }
  return true;
}

bool meet(const RunSet& a, const RunSet& b) {
  std::size_t i = 0, j = 0;
  while (i < a.size() && j < b.size()) {
    if (a[i].storage == b[j].storage && a[i].begin < b[j].end && b[j].begin < a[i].end) return true;
    const bool first =
        a[i].storage != b[j].storage ? a[i].storage < b[j].storage : a[i].end < b[j].end;
    ++(first ? i : j);
  }
  return false;
}

std::int64_t byte_count(const RunSet& runs) {
  std::int64_t bytes = 0;
  for (const Run& run : runs) bytes += run.end - run.begin;
  return bytes;
}

RunSet MovingRuns::at(std::int64_t block, bool& twice_there) const {
  RunSet moved = runs;
  for (std::size_t i = 0; i < moved.size(); ++i) {
    moved[i].begin += block * strides[i];
    moved[i].end += block * strides[i];
  }
  twice_there = unite(moved);
  return moved;
}

bool MovingRuns::fits(std::int64_t blocks) const {
  for (std::size_t i = 0; i < runs.size(); ++i) {
    const Wide last = Wide{strides[i]} * (blocks - 1) + runs[i].end;
    if (strides[i] < 0 || runs[i].begin < 0 || last > far) return false;
  }
  return true;
}

std::optional<std::int64_t> MovingRuns::common_stride() const {
  for (const std::int64_t stride : strides)
    if (stride != strides.front()) return std::nullopt;
  return strides.empty() ? std::nullopt : std::optional(strides.front());
}

MovingRuns runs_of(std::span<const Part> parts) {
  MovingRuns moving;
  for (const Part& part : parts)
    for (const Range& range : part.ranges) {
      const std::int64_t begin = part.base + range.offset;
      moving.runs.push_back({part.storage, begin, begin + range.length});
      moving.strides.push_back(part.block_stride);
    }
  return moving;
}

std::optional<MovingRuns> runs_of(std::span<const View> views, std::size_t most) {
  MovingRuns moving;
  for (const View& view : views) {
    const std::optional<Axes> axes = axes_of(view, most);
    if (!axes || Wide{view.storage_offset} * view.dtype->itemsize > far ||
        Wide{view.stride[view.block_axis]} * view.dtype->itemsize > far)
      return std::nullopt;
    add_runs(view, *axes, moving);
  }
  return moving;
}

}  // namespace kvedit::reference
