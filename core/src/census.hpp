#pragma once

#include <cstddef>

#include "findings.hpp"
#include "model/edit.hpp"
#include "model/index.hpp"

namespace kvedit {

/// Lists every layer of every group, excludes those the format excludes, and puts the others into
/// classes of equal facts. What cannot even be compared goes to `findings` and into no class.
void take_census(Edit& edit, Findings& findings);

/// What rules see of a layer.
LayerFacts facts_of(const Edit& edit, const LayerRef& layer);

}  // namespace kvedit
