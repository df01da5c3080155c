#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <variant>
#include <vector>

namespace kvedit::readback {

/// A tensor's axes in the order in which LMCache looks at them: outermost in memory first.
struct Dims {
  std::vector<std::int64_t> shape;
  std::vector<std::int64_t> stride;  // elements
  bool contiguous = false;
};

/// The step that comes before LMCache's detection (0.5.6): axes sorted by stride, the one of extent
/// 1 behind another of the same stride. What is dense is then shaped anew from its strides alone;
/// the rest may have gaps between the entries of the outermost axis and nowhere else.
/// @return the axes, or why LMCache refuses the tensor
std::variant<Dims, std::string> recover(std::span<const std::int64_t> shape,
                                        std::span<const std::int64_t> stride);

}  // namespace kvedit::readback
