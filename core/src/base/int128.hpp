#pragma once

namespace kvedit {

/// Sums and products of 64-bit numbers from a registration: never overflows for the handful of
/// factors used at once after extents and strides were bounded by a storage.
__extension__ using Int128 = __int128;

}  // namespace kvedit
