#pragma once

#include <cstdint>
#include <span>

#include "base/field.hpp"

namespace kvedit {

/// Whether a block of one field and a block of another number of the other share a byte, and the
/// first such found.
struct Crossing {
  Meeting meeting = Meeting::apart;
  std::int64_t block = 0, other_block = 0;  // when they share
  Int128 byte = 0;
};

/// Equal strides are decided at once, others within `steps` steps, which are counted down.
Crossing cross(const Progression& a, const Progression& b, std::int64_t& steps);
Crossing cross(const Field& a, const Field& b, std::int64_t& steps);

/// Whether no two fields of these cross, decided for all at once where their strides are equal:
/// true is certain, false says nothing.
bool none_crosses(std::span<const Field> fields);

}  // namespace kvedit
