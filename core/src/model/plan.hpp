#pragma once

#include <cstdint>
#include <vector>

#include <kvedit/result.hpp>

#include "base/inline_vector.hpp"

namespace kvedit {

constexpr std::size_t max_axes = 12;

struct Axis {
  std::int64_t extent = 1;
  std::int64_t stride = 0;  // bytes
  Role role = Role::content;

  bool operator==(const Axis&) const = default;
};

using Axes = InlineVector<Axis, max_axes>;

/// Index (i0, i1, …) holds `item_bytes` bytes at `offset + Σ i·stride` from the first element of
/// registered tensor `tensor`.
struct Box {
  std::uint32_t tensor = 0;
  std::int64_t offset = 0;
  std::int64_t item_bytes = 1;
  Axes axes;

  bool operator==(const Box&) const = default;
};

/// How a layer's page is to be read: a box for each tensor, or one for all.
struct Plan {
  std::vector<Box> boxes;
  bool declared = false;

  bool operator==(const Plan&) const = default;
};

}  // namespace kvedit
