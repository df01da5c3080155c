#pragma once

#include <vector>

#include "model/edit.hpp"

namespace kvedit::readback {

/// What LMCache 0.5.6 will take the views of profile `lmcache` for: over whole groups and under the
/// registration's layout, the format, slots, heads, bytes and step that its detection derives, held
/// against what was proved. Fills `edit.read_backs`.
/// @return `profile` problems: errors where it would refuse the views or move other bytes, warnings
///         where only names differ
std::vector<Problem> read_back(Edit& edit);

}  // namespace kvedit::readback
