#pragma once

#include <cstdint>
#include <random>

namespace kvedit {

/// Numbers from low to high, both included; the same for the same seed.
struct Dice {
  std::mt19937 engine;
  std::int64_t operator()(std::int64_t low, std::int64_t high) {
    return std::uniform_int_distribution<std::int64_t>(low, high)(engine);
  }
};

}  // namespace kvedit
