#pragma once

#include <optional>
#include <variant>

#include "model/edit.hpp"

namespace kvedit::prove {

/// Proves a class of layers by the ownership definition: by the plan of the rule that claimed it,
/// or without one by the host's own reading, which then must have one entry for each block.
/// @param plan  of the rule that claimed it, or null
std::variant<ProvedPage, Failure> prove(const LayerFacts& facts, const Plan* plan);

}  // namespace kvedit::prove
