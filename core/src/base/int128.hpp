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

}  // namespace kvedit
