#include "base/runs.hpp"

#include <algorithm>

namespace kvedit {

void Strided::merge() {
  std::sort(steps_.begin(), steps_.end(), [](const Step& a, const Step& b) {
    return a.stride != b.stride ? a.stride < b.stride : a.extent < b.extent;
  });
  while (!steps_.empty() && steps_.front().stride == run_) {
    run_ *= steps_.front().extent;
    steps_.erase(0);
  }
  for (std::size_t i = 0; i + 1 < steps_.size();) {
    Step& inner = steps_[i];
    if (static_cast<Int128>(inner.stride) * inner.extent == steps_[i + 1].stride) {
      inner.extent *= steps_[i + 1].extent;
      steps_.erase(i + 1);
    } else {
      ++i;
    }
  }
}

std::int64_t Strided::span() const {
  std::int64_t span = run_;
  for (const Step& step : steps_) span += (step.extent - 1) * step.stride;
  return span;
}

Int128 Strided::bytes() const {
  Int128 bytes = run_;
  for (const Step& step : steps_) bytes *= step.extent;
  return bytes;
}

bool Strided::nested() const {
  std::int64_t inside = run_;
  for (const Step& step : steps_) {
    if (step.stride < inside) return false;
    inside += (step.extent - 1) * step.stride;
  }
  return true;
}

std::optional<Expanded> expand(const Strided& set, std::int64_t base) {
  Int128 runs = 1;
  for (const Step& step : set.steps()) {
    runs *= step.extent;
    if (runs > max_runs) return std::nullopt;
  }
  Expanded expanded;
  expanded.ranges.reserve(static_cast<std::size_t>(runs));
  expanded.ranges.push_back({base, set.run()});
  for (std::size_t s = set.steps().size(); s-- > 0;) {
    const Step& step = set.steps()[s];
    Ranges wider;
    wider.reserve(static_cast<std::size_t>(runs));
    for (const Range& range : expanded.ranges)
      for (std::int64_t i = 0; i < step.extent; ++i)
        wider.push_back({range.offset + i * step.stride, range.length});
    expanded.ranges.swap(wider);
  }
  expanded.twice = !set.steps().empty() && normalise(expanded.ranges);
  return expanded;
}

bool normalise(Ranges& ranges) {
  const auto before = [](const Range& a, const Range& b) { return a.offset < b.offset; };
  if (!std::is_sorted(ranges.begin(), ranges.end(), before))
    std::sort(ranges.begin(), ranges.end(), before);
  bool shared = false;
  std::size_t kept = 0;
  for (std::size_t i = 1; i < ranges.size(); ++i) {
    Range& last = ranges[kept];
    const std::int64_t end = last.offset + last.length;
    shared = shared || ranges[i].offset < end;
    if (ranges[i].offset <= end)
      last.length = std::max(end, ranges[i].offset + ranges[i].length) - last.offset;
    else
      ranges[++kept] = ranges[i];
  }
  if (!ranges.empty()) ranges.resize(kept + 1);
  return shared;
}

bool contains(const Ranges& outer, const Ranges& inner) {
  std::size_t at = 0;
  for (const Range& range : inner) {
    while (at < outer.size() && outer[at].offset + outer[at].length < range.offset + range.length)
      ++at;
    if (at == outer.size() || outer[at].offset > range.offset) return false;
  }
  return true;
}

std::int64_t total(const Ranges& ranges) {
  std::int64_t bytes = 0;
  for (const Range& range : ranges) bytes += range.length;
  return bytes;
}

}  // namespace kvedit
