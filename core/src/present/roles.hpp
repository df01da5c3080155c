#pragma once

#include "model/edit.hpp"

namespace kvedit::present {

/// Names the axes of a box that no rule described, from the spec's heads and the page's slots in
/// the engines' logical orders; opaque where none fits, or where two do and no layout confirms.
void name_axes(const LayerFacts& facts, Box& box);

}  // namespace kvedit::present
