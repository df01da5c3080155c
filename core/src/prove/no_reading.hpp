#pragma once

#include "model/edit.hpp"
#include "prove/search.hpp"

namespace kvedit::prove {

/// Why a search found no axes that make up pages, as whoever runs the engine needs to know it:
/// which numbers do not belong together, and what would make them.
Failure no_reading(const LayerFacts& facts, std::int64_t placed_stride, const Search& search);

}  // namespace kvedit::prove
