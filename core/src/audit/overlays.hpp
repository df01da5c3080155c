#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "audit/owners.hpp"

namespace kvedit::audit {

/// Watches where the layers of one group after another lie, at the cost of one comparison each.
/// Engines lay groups over each other so that block b of all of them lies in stride b of one
/// region, or apart; whether they do is all it tells.
class Overlays {
 public:
  /// Clusters of one group, by storage and first byte.
  void add(std::span<const Span> cluster);
  void end_group();

  /// False: no blocks of different numbers of two groups share a byte. True says nothing.
  bool may_cross() const { return may_cross_; }

 private:
  struct Region {
    std::int32_t storage;
    std::int64_t begin;
    std::int64_t end;
    std::int64_t stride;  // block b lies in stride b; or 0
  };

  static Region region_of(std::span<const Span> cluster);
  static bool before(const Region& a, const Region& b);

  std::vector<Region> regions_;  // of earlier groups, sorted and apart
  std::vector<Region> added_;    // of this one
  std::size_t at_ = 0;           // the first that does not end before what comes next
  bool may_cross_ = false;
};

}  // namespace kvedit::audit
