#pragma once

#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "base/runs.hpp"
#include "model/edit.hpp"

namespace kvedit::prove {

/// The bytes of block 0 that one split box holds, and how they move from block to block.
struct Footprint {
  std::uint32_t tensor = 0;
  std::size_t leader = 0;         // first tensor of the layer in the same storage
  std::int64_t base = 0;          // bytes from the leader's first element
  std::int64_t block_stride = 0;  // bytes; 0 for a single block
  Strided inner{1};

  std::int64_t end() const { return base + inner.span(); }
};

std::vector<Footprint> footprints_of(const LayerFacts& facts, const std::vector<Box>& boxes);

/// The box with all its axes, blocks included.
Strided all_of(const Box& box);

/// Sums of bytes of one block.
Int128 bytes_of(const std::vector<Footprint>& prints);

/// Ranges of block 0 that lie in one storage and move by one stride.
struct Stream {
  std::size_t leader = 0;
  std::int64_t block_stride = 0;
  Ranges ranges;  // from the leader's first element
};

/// All ranges of block 0, by storage and stride. Fails when a byte is met twice (`overlap`) or the
/// page is scattered over too many ranges.
std::variant<std::vector<Stream>, Failure> streams_of(const std::vector<Footprint>& prints);

Failure too_scattered(std::size_t tensor);
Failure met_twice(std::size_t tensor);

}  // namespace kvedit::prove
