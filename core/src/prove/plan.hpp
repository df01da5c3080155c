#pragma once

#include <variant>
#include <vector>

#include "model/edit.hpp"

namespace kvedit::prove {

/// A rule's boxes with the block axis split, and how many kernel pages make a block.
struct SplitPlan {
  std::vector<Box> boxes;
  std::int64_t kernel_pages = 1;
  bool split_by_rule = false;  // it gave the kernel pages as an axis
};

/// Checks what a plan must have by itself: sizes, alignment, entries that make up one page, and the
/// placement's stride.
std::variant<SplitPlan, Failure> split(const LayerFacts& facts, const Plan& plan);

/// By the host's proved page: whether the plan reads the same bytes, padding of the block's own
/// aside. `incomplete` when it misses some, `outside-page` when it reads what the block does not
/// own.
std::optional<Failure> differs(const LayerFacts& facts, const SplitPlan& plan,
                               const ProvedPage& own);

}  // namespace kvedit::prove
