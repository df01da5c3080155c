#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include <kvedit/result.hpp>

namespace kvedit::reference {

/// Bytes `[begin, end)` of a storage.
struct Run {
  std::int32_t storage = 0;
  std::int64_t begin = 0;
  std::int64_t end = 0;

  auto operator<=>(const Run&) const = default;
};

using RunSet = std::vector<Run>;  ///< sorted, apart, not touching

/// Sorts and joins; true when a byte was there twice.
bool unite(RunSet& runs);

/// Whether every byte of `inner` is in `outer`; both united.
bool contains(const RunSet& outer, const RunSet& inner);

/// Whether two united sets have a byte in common.
bool meet(const RunSet& a, const RunSet& b);

std::int64_t byte_count(const RunSet& runs);

/// The bytes of one block, and by how much each run moves from block to block.
struct MovingRuns {
  RunSet runs;
  std::vector<std::int64_t> strides;

  /// Of any block, united.
  RunSet at(std::int64_t block, bool& twice_there) const;
  bool fits(std::int64_t blocks) const;               ///< all of it in 63 bits
  std::optional<std::int64_t> common_stride() const;  ///< of all its runs
};

MovingRuns runs_of(std::span<const Part> parts);

/// All views together; nothing when they have more than `most` runs or leave 62 bits.
std::optional<MovingRuns> runs_of(std::span<const View> views, std::size_t most);

}  // namespace kvedit::reference
