#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "base/inline_vector.hpp"
#include "prove/grain.hpp"
#include "prove/own_reading.hpp"

namespace kvedit::prove {

struct NearMiss {
  Miss miss;
  std::size_t axis = 0;
  std::int64_t entry = 0;  // bytes, of one entry of every tensor
};

/// Tries one axis of every tensor, the outermost in memory first, until entries make up pages.
class Search {
 public:
  static constexpr int most_candidates = 4096;

  explicit Search(const LayerFacts& facts);

  std::optional<Reading> first();

  /// Whether the `depth`-th axes that are longer than 1, from outside, make up a page.
  std::optional<Reading> at_depth(std::size_t depth);

  std::size_t depth_of(std::size_t tensor, std::size_t axis) const;

  /// None when no axes of the tensors count the same blocks.
  const std::optional<NearMiss>& nearest() const { return nearest_; }
  bool exhausted() const { return tries_ >= most_candidates; }

 private:
  using AxisOrder = InlineVector<std::size_t, max_axes>;

  static AxisOrder memory_order(const Tensor& tensor, std::int64_t num_blocks);

  void choose(std::size_t tensor, std::size_t axis);
  std::optional<Reading> descend(std::size_t tensor);
  bool may_share_pages(std::size_t tensor) const;
  std::optional<Reading> judge();
  std::int64_t all_bytes() const;

  const LayerFacts& facts_;
  std::vector<AxisOrder> orders_;
  std::vector<std::size_t> chosen_;
  std::vector<Entries> entries_;
  std::optional<NearMiss> nearest_;
  int tries_ = 0;
};

}  // namespace kvedit::prove
