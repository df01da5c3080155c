#pragma once

#include <cstdint>
#include <unordered_map>
#include <vector>

#include "model/edit.hpp"

namespace kvedit::match {

/// Collects layers with equal facts and equal placement stride into classes.
class Classes {
 public:
  explicit Classes(std::vector<LayerClass>& classes) : classes_(classes) {}

  /// The number of the layer's class, a new one if need be.
  std::int32_t classify(const LayerFacts& facts, std::int64_t placed_stride);

 private:
  std::vector<LayerClass>& classes_;
  std::unordered_multimap<std::uint64_t, std::int32_t> by_hash_;
};

}  // namespace kvedit::match
