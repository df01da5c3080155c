#pragma once

#include <variant>
#include <vector>

#include "model/edit.hpp"

namespace kvedit::prove {

/// Which axis of each tensor carries the blocks, and how many entries make one.
struct Reading {
  std::vector<std::size_t> axes;  // one for each tensor
  std::int64_t kernel_pages = 1;
};

/// The host's own reading by the definition's "Which axis"; or why there is none: `not-tiled`,
/// `block-count`, `placement-mismatch`, or `granularity-mismatch` when two fit.
std::variant<Reading, Failure> read(const LayerFacts& facts);

/// The reading's boxes, in the order of the registered axes, block axes split into block and
/// kernel page.
std::vector<Box> boxes_of(const LayerFacts& facts, const Reading& reading);

/// The axis of role block as `blocks` entries of `kernel_pages` entries each.
Box split_blocks(const Box& box, std::int64_t blocks, std::int64_t kernel_pages);

}  // namespace kvedit::prove
