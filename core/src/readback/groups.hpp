#pragma once

#include <cstdint>

#include "model/edit.hpp"
#include "model/head_order.hpp"
#include "readback/problems.hpp"

namespace kvedit::readback {

/// What one engine group is held against.
struct Frame {
  HeadOrder order = HeadOrder::tokens_first;
  std::int64_t chunk = 0;  // the smallest number of tokens LMCache can store of all groups
};

/// Reads one group as LMCache does and adds what is wrong with it.
void read_group(Edit& edit, std::size_t group, const Frame& frame, Problems& problems);

}  // namespace kvedit::readback
