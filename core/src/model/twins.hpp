#pragma once

#include <cstddef>

#include "model/index.hpp"

namespace kvedit {

/// Layers of one group with the same spec and the same tensors at one place, in the order of the
/// layers. Who has no view of its own is no twin: nobody would move the bytes.
void find_twins(const RegistrationData& data, std::size_t group, RegistrationIndex& index);

}  // namespace kvedit
