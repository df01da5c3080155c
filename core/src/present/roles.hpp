#pragma once

#include "model/edit.hpp"

namespace kvedit::present {

/// Names the axes of a box that no rule described, from the spec's heads and the page's slots in
/// the engines' logical orders; opaque where they do not fit.
void name_axes(const LayerFacts& facts, Box& box);

/// Whether the content axis holds plain K, K beside V, or a latent of one head: not packed, not
/// quantised, not an indexer's.
bool plain_content(const LayerFacts& facts, const Box& box);

}  // namespace kvedit::present
