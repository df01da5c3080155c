#pragma once

#include <array>
#include <string_view>
#include <utility>

namespace kvedit {

/// The long name of a dtype that PyTorch also accepts under a short one; other names as they are.
inline std::string_view long_name(std::string_view dtype) {
  using Pair = std::pair<std::string_view, std::string_view>;
  constexpr std::array pairs = {Pair{"half", "float16"},   Pair{"float", "float32"},
                                Pair{"double", "float64"}, Pair{"short", "int16"},
                                Pair{"int", "int32"},      Pair{"long", "int64"}};
  for (const auto& [brief, full] : pairs)
    if (dtype == brief) return full;
  return dtype;
}

}  // namespace kvedit
