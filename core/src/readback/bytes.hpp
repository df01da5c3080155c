#pragma once

#include <optional>
#include <span>
#include <vector>

#include "base/runs.hpp"
#include "model/edit.hpp"
#include "readback/format.hpp"

namespace kvedit::readback {

/// Bytes that LMCache moves for block 0, from the first element of one of the layer's tensors, and
/// how far the next block is.
struct Moved {
  std::size_t tensor = 0;
  std::int64_t step = 0;
  Ranges ranges;
};

/// @param stride  of the outermost axis of the first layer that shares the format's kernel,
/// elements:
///                LMCache takes it for all of them
std::vector<Moved> moved(const Entry& entry, Format format, const Geometry& read,
                         std::int64_t stride);

/// Of one block: bytes moved, and their distance to the next block's.
struct BlockMove {
  std::int64_t bytes = 0, step = 0;
};

BlockMove block_move(std::span<const Moved> all);

/// Whether every block's payload is moved, and nothing that is not its own.
bool right_bytes(const LayerClass& of, std::span<const ViewShape> views,
                 std::span<const Moved> all);

}  // namespace kvedit::readback
