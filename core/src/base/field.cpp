#include "base/field.hpp"

#include <algorithm>

namespace kvedit {

Meeting meet(const Field& a, const Field& b, std::int64_t& steps) {
  if (a.end() <= b.begin() || b.end() <= a.begin()) return Meeting::apart;
  for (std::size_t i = 0; i < a.ranges.size(); ++i)
    for (std::size_t j = 0; j < b.ranges.size(); ++j) {
      if (--steps < 0) return Meeting::undecided;
      const Meeting meeting = meet(a.progression(i), b.progression(j), steps);
      if (meeting != Meeting::apart) return meeting;
    }
  return Meeting::apart;
}

Meeting meets_itself(const Field& field, std::int64_t& steps) {
  if (field.count == 1 || apart_within_stride(std::span(&field, 1))) return Meeting::apart;
  for (std::size_t i = 0; i < field.ranges.size(); ++i) {
    if (field.stride < field.ranges[i].length) return Meeting::share;
    for (std::size_t j = i + 1; j < field.ranges.size(); ++j) {
      if (--steps < 0) return Meeting::undecided;
      const Meeting meeting = meet(field.progression(i), field.progression(j), steps);
      if (meeting != Meeting::apart) return meeting;
    }
  }
  return Meeting::apart;
}

bool apart_within_stride(std::span<const Field> fields) {
  const std::int64_t stride = fields.front().stride;
  if (stride <= 0) return false;
  std::vector<Range> within;
  for (const Field& field : fields)
    for (const Range& range : field.ranges) {
      if (field.stride != stride || range.length > stride) return false;
      Int128 rest = (field.base + range.offset) % stride;
      if (rest < 0) rest += stride;
      const auto at = static_cast<std::int64_t>(rest);
      const std::int64_t first = std::min(range.length, stride - at);
      within.push_back({at, first});
      if (first < range.length) within.push_back({0, range.length - first});
    }
  std::sort(within.begin(), within.end(),
            [](const Range& a, const Range& b) { return a.offset < b.offset; });
  for (std::size_t i = 1; i < within.size(); ++i)
    if (within[i - 1].offset + within[i - 1].length > within[i].offset) return false;
  return true;
}

}  // namespace kvedit
