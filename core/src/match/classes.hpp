#pragma once

#include <cstdint>
#include <map>
#include <tuple>
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
  // Equal facts have equal addresses.
  using Key = std::tuple<const Spec*, const Tensor*, const Group*, std::int64_t, std::int64_t>;

  std::vector<LayerClass>& classes_;
  std::map<Key, std::int32_t> known_;
  Key last_;
  std::int32_t last_class_ = -1;
};

}  // namespace kvedit::match
