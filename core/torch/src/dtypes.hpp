#pragma once

#include <optional>

#include <kvedit/torch.hpp>

namespace kvedit::torch {

/// The type in which a tensor of `own` shows `dtype`: its own byte type stands in for one that this
/// libtorch does not have.
std::optional<at::ScalarType> shown_type(const DType& dtype, at::ScalarType own);

}  // namespace kvedit::torch
