#pragma once

#include <optional>
#include <span>

#include "model/edit.hpp"

namespace kvedit::prove {

/// What is wrong with the facts themselves: a spec that contradicts itself, or tensors whose shape,
/// stride or size mean nothing. After this, sums over one tensor fit 63 bits.
std::optional<Failure> sane(const LayerFacts& facts);

/// The same for tensors alone.
std::optional<Failure> sane_tensors(std::span<const Tensor> tensors);

/// The same for a box that a rule gave.
std::optional<Failure> sane(const Box& box);

/// From the first byte of a tensor to one behind its last.
std::int64_t span_of(const Tensor& tensor);

}  // namespace kvedit::prove
