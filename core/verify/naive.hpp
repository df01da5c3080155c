#pragma once

#include <cstdint>

#include "layer_truth.hpp"
#include "moves.hpp"
#include "verify.hpp"

namespace kvedit::verify {

/// Whether every tensor has an entry of its first axis for each id, and all of them are not larger
/// than a page: an entry that holds a plane of all blocks is shown wrong by its size alone.
bool can_be_tried(const LayerTruth& truth, const Move& move);

/// Entry `block` of the first axis of every tensor.
Runs entry_of(const LayerTruth& truth, std::int64_t block);

/// What is known before bytes are moved.
NaiveReading naive_reading(const LayerTruth& truth, const Move& move);

}  // namespace kvedit::verify
