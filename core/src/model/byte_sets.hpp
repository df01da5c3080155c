#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/runs.hpp"
#include "model/edit.hpp"

namespace kvedit {

/// All bytes of a tensor, from its first element on.
Strided bytes_of(const Tensor& tensor);

/// The ranges of block 0 of the parts that lie in the storage of tensor `leader` and move by
/// `block_stride`, from the leader's first element; a lone block moves by any stride.
Ranges ranges_of(const LayerFacts& facts, const std::vector<PartShape>& parts, std::size_t leader,
                 std::int64_t block_stride);

}  // namespace kvedit
