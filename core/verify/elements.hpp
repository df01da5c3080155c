#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include <kvedit/registration.hpp>
#include <kvedit/result.hpp>

#include "runs.hpp"

namespace kvedit::verify {

/// A registered tensor or a view as what it is to everybody: shape, stride, offset.
struct Elements {
  std::span<const std::int64_t> shape;
  std::span<const std::int64_t> stride;  ///< bytes are `stride · item`
  std::int64_t item = 1;                 ///< bytes
  std::int64_t offset = 0;               ///< elements
  std::int32_t storage = 0;

  static Elements of(const Tensor& tensor, std::int32_t storage);
  static Elements of(const View& view);

  /// Bytes of one index of an axis.
  std::int64_t entry_bytes(std::size_t axis) const;
  /// Bytes from one index of an axis to the next; the largest number where that is beyond 64 bits.
  std::int64_t step(std::size_t axis) const;
  /// Appends the bytes of `count` entries of `axis`, entry by entry, element by element; elements
  /// side by side in memory follow each other. The order is the same for every entry.
  void append_entries(std::size_t axis, std::int64_t first, std::int64_t count, Runs& runs) const;
};

}  // namespace kvedit::verify
