#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "facts.hpp"
#include "runs.hpp"

namespace kvedit::verify {

/// Block *b* as docs/architecture.md, "Ownership", says it for a layer whose kernel pages follow
/// each other: entries `b·k … b·k+k−1` of one axis of each registered tensor, walked element by
/// element. Knows shapes, strides and specs, and nothing of plans, page maps or views.
class PlainReading {
 public:
  /// Nothing when no axis of each tensor has `blocks` blocks of `kernel_pages` entries that make up
  /// one page.
  static std::optional<PlainReading> find(const LayerFacts& facts, std::int64_t kernel_pages);

  /// In an order that is the same for every block.
  Runs raw(std::int64_t block) const;
  /// In the order of addresses where the block owns a window, else as `raw`.
  Runs payload(std::int64_t block) const;
  Runs owned(std::int64_t block) const;

  /// Whether entry *b* of the first axis of every tensor is block *b*.
  bool indexed_by_block() const;

 private:
  PlainReading(const LayerFacts& facts, std::int64_t kernel_pages, std::vector<std::size_t> axes)
      : facts_(facts), kernel_pages_(kernel_pages), axes_(std::move(axes)) {}

  /// From the lowest byte of the block on, when it owns a page there.
  std::optional<Run> window(Runs raw) const;
  bool moves_by_one_stride() const;

  LayerFacts facts_;
  std::int64_t kernel_pages_;
  std::vector<std::size_t> axes_;  // of each tensor
};

}  // namespace kvedit::verify
