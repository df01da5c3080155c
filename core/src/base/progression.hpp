#pragma once

#include <cstdint>

#include "base/int128.hpp"

namespace kvedit {

/// Bytes `[begin + i·stride, begin + i·stride + length)` for `i` from 0 to `count` − 1.
struct Progression {
  Int128 begin = 0;
  std::int64_t length = 0;  // positive
  std::int64_t stride = 0;  // positive, or 0 when count is 1
  std::int64_t count = 1;

  Int128 end() const { return begin + static_cast<Int128>(count - 1) * stride + length; }
};

enum class Meeting { apart, share, undecided };

/// Whether two progressions share a byte. Progressions of equal stride are decided at once, others
/// within `steps` steps, which are counted down.
Meeting meet(const Progression& a, const Progression& b, std::int64_t& steps);

/// Whether terms of different index of one progression share a byte.
inline bool meets_itself(const Progression& a) { return a.count > 1 && a.stride < a.length; }

}  // namespace kvedit
