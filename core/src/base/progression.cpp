#include "base/progression.hpp"

#include <algorithm>
#include <numeric>

namespace kvedit {
namespace {

/// a.begin + i·s meets b.begin + j·s exactly when (i − j)·s lies between two bounds.
bool meet_equal_strides(const Progression& a, const Progression& b, std::int64_t stride) {
  const Int128 apart = b.begin - a.begin;
  const Int128 lowest = ceil_div(apart - a.length + 1, stride);
  const Int128 highest = floor_div(apart + b.length - 1, stride);
  return std::max<Int128>(lowest, -(b.count - 1)) <= std::min<Int128>(highest, a.count - 1);
}

/// Every difference of terms is `b.begin − a.begin` plus a multiple of the common divisor.
bool apart_by_divisor(const Progression& a, const Progression& b) {
  const std::int64_t divisor = std::gcd(a.stride, b.stride);
  if (divisor < a.length || divisor < b.length) return false;
  Int128 rest = (b.begin - a.begin) % divisor;
  if (rest < 0) rest += divisor;
  return rest >= a.length && divisor - rest >= b.length;
}

/// Whether term [begin, begin + length) meets a term of b.
bool meets_term(Int128 begin, std::int64_t length, const Progression& b) {
  if (b.stride == 0) return begin < b.begin + b.length && b.begin < begin + length;
  const Int128 lowest = ceil_div(begin - b.length + 1 - b.begin, b.stride);
  const Int128 highest = floor_div(begin + length - 1 - b.begin, b.stride);
  return std::max<Int128>(lowest, 0) <= std::min<Int128>(highest, b.count - 1);
}

}  // namespace

Meeting meet(const Progression& a, const Progression& b, std::int64_t& steps) {
  if (a.end() <= b.begin || b.end() <= a.begin) return Meeting::apart;
  const auto decided = [](bool shares) { return shares ? Meeting::share : Meeting::apart; };
  if (a.count == 1) return decided(meets_term(a.begin, a.length, b));
  if (b.count == 1) return decided(meets_term(b.begin, b.length, a));
  if (a.stride == b.stride) return decided(meet_equal_strides(a, b, a.stride));
  if (apart_by_divisor(a, b)) return Meeting::apart;
  const Progression& few = a.count <= b.count ? a : b;
  const Progression& many = a.count <= b.count ? b : a;
  for (std::int64_t i = 0; i < few.count; ++i) {
    if (--steps < 0) return Meeting::undecided;
    if (meets_term(few.begin + static_cast<Int128>(i) * few.stride, few.length, many))
      return Meeting::share;
  }
  return Meeting::apart;
}

}  // namespace kvedit
