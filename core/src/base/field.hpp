#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include <kvedit/result.hpp>

#include "base/progression.hpp"

namespace kvedit {

/// Bytes that recur from block to block: ranges of block 0 relative to `base`, `count` blocks.
struct Field {
  Int128 base = 0;
  std::int64_t stride = 0;
  std::int64_t count = 1;
  std::span<const Range> ranges;  // sorted, disjoint

  Int128 begin() const { return base + ranges.front().offset; }
  Int128 end() const {
    return base + ranges.back().offset + ranges.back().length +
           static_cast<Int128>(count - 1) * stride;
  }
  Progression progression(std::size_t range) const {
    return {base + ranges[range].offset, ranges[range].length, stride, count};
  }
};

/// Whether two fields share a byte. `steps` bounds the work and is counted down.
Meeting meet(const Field& a, const Field& b, std::int64_t& steps);

/// Whether two blocks of one field share a byte.
Meeting meets_itself(const Field& field, std::int64_t& steps);

/// Whether fields of equal stride are disjoint within one stride, whatever their number of blocks:
/// sufficient for all to be apart, each from itself and from the others.
bool apart_within_stride(std::span<const Field> fields);

}  // namespace kvedit
