#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "trial.hpp"

namespace kvedit::verify {

/// The layers to be moved, by group, and what moving costs.
class Waves {
 public:
  /// @param layers  of each group, none empty
  /// @param pairs   blocks for each group; nothing: 4, fewer where that commits too much
  Waves(const std::vector<LayerTruth>& truths,
        std::map<std::int32_t, std::vector<std::size_t>> layers, std::optional<std::size_t> pairs,
        std::uint64_t seed);

  /// The ids of each group on its own; the same for all its layers.
  const std::map<std::int32_t, Move>& moves() const { return moves_; }
  /// Layers of one group each, as many as fit into the memory of one trial.
  std::vector<Moving> alone() const;
  /// All groups, under ids that no two have; empty when there is but one, or ids do not suffice.
  std::vector<std::vector<Moving>> together() const;

 private:
  std::int64_t blocks_of(std::int32_t group) const;
  std::int64_t cost(std::size_t layer, std::size_t ids) const;
  std::int64_t choose(std::size_t pairs);
  std::vector<Moving> moves_together() const;

  const std::vector<LayerTruth>& truths_;
  std::map<std::int32_t, std::vector<std::size_t>> layers_;
  std::map<std::size_t, std::int64_t> cost_of_block_;
  std::map<std::int32_t, Move> moves_;
  std::uint64_t seed_;
};

/// Bytes that blocks of different groups of a wave share.
std::int64_t shared_bytes(const std::vector<LayerTruth>& truths, const std::vector<Moving>& wave);

}  // namespace kvedit::verify
