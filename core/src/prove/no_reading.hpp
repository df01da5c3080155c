#pragma once

#include <string_view>

#include "model/edit.hpp"
#include "prove/search.hpp"

namespace kvedit::prove {

/// Why a search found no axes that make up pages, as whoever runs the engine needs to know it:
/// which numbers do not belong together, and what would make them.
Failure no_reading(const LayerFacts& facts, const Search& search);

/// Entries of an axis that are other blocks than the engine counts: `block-count`.
/// @param axis  what to call it
Failure other_blocks(const LayerFacts& facts, std::string_view axis, const Miss& miss);

}  // namespace kvedit::prove
