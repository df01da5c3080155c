#pragma once

#include <cstddef>
#include <cstdint>
#include <set>
#include <vector>

namespace kvedit::verify {

/// Block ids whose bytes are stored, and the other ids under which they come back.
struct Move {
  std::vector<std::int64_t> from;
  std::vector<std::int64_t> to;

  std::size_t pairs() const { return from.size(); }
  /// All of them and the ids beside them, below `blocks`.
  std::set<std::int64_t> touched(std::int64_t blocks) const;
};

/// First, last, middle, then scattered ids, each beside the one it comes back under. A single block
/// comes back under its own id.
/// @param pairs  as many where there are ids for it
/// @param taken  ids of others; the chosen ones are added
Move choose_blocks(std::int64_t blocks, std::size_t pairs, std::uint64_t seed,
                   std::set<std::int64_t>& taken);

/// One pair of a group that moves together with others: group number `place` of `groups` gets ids
/// beside those of the groups before and behind it. A single block has no other id.
Move neighbouring_blocks(std::int64_t blocks, std::size_t place, std::size_t groups,
                         std::set<std::int64_t>& taken);

/// Some pairs with no place preferred; a single block has no other id.
Move scatter_blocks(std::int64_t blocks, std::size_t pairs, std::uint64_t seed,
                    std::set<std::int64_t>& taken);

}  // namespace kvedit::verify
