#pragma once

#include <cstdint>
#include <vector>

#include "model/edit.hpp"

namespace kvedit::audit {

/// Warnings about groups that keep blocks of different numbers at the same bytes, one for each pair
/// of groups. Groups may overlay each other under one block id, which belongs to one group at a
/// time; two ids can be held at once. Only proved layers count.
std::vector<Problem> crossing_groups(const Edit& edit);

}  // namespace kvedit::audit
