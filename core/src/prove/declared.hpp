#pragma once

#include <optional>
#include <vector>

#include "model/edit.hpp"

namespace kvedit::prove {

/// What can be proved of an order that is the rule's word: a box for each tensor, and every entry
/// of every tensor in exactly one block, a tail shorter than a block aside.
/// @param boxes  split
std::optional<Failure> disprove_partition(const LayerFacts& facts, const std::vector<Box>& boxes);

}  // namespace kvedit::prove
