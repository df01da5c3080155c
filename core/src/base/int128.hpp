#pragma once

#include <algorithm>
#include <cstdint>

namespace kvedit {

/// Sums and products of 64-bit numbers from a registration: never overflows for the handful of
/// factors used at once after extents and strides were bounded by a storage.
__extension__ using Int128 = __int128;

/// The nearest number of 64 bits.
constexpr std::int64_t saturated(Int128 value) {
  return static_cast<std::int64_t>(std::clamp<Int128>(value, INT64_MIN, INT64_MAX));
}

/// Rounded down, up. `b` is not 0.
constexpr Int128 floor_div(Int128 a, Int128 b) {
  return a / b - (a % b != 0 && (a < 0) != (b < 0));
}
constexpr Int128 ceil_div(Int128 a, Int128 b) { return -floor_div(-a, b); }

}  // namespace kvedit
