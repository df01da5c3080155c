#pragma once

#include <cstdint>
#include <random>
#include <vector>

namespace kvedit::reference {

/// The same numbers on every machine and compiler.
class Dice {
 public:
  explicit Dice(std::uint64_t seed) : engine_(seed) {}

  std::int64_t between(std::int64_t low, std::int64_t high) {
    const auto span = static_cast<std::uint64_t>(high - low) + 1;
    return low + static_cast<std::int64_t>(engine_() % span);
  }
  bool percent(std::int64_t chance) { return between(1, 100) <= chance; }
  std::size_t index(std::size_t size) {
    return static_cast<std::size_t>(between(0, static_cast<std::int64_t>(size) - 1));
  }
  template <class T>
  const T& pick(const std::vector<T>& values) {
    return values[index(values.size())];
  }
  template <class T>
  void shuffle(std::vector<T>& values) {
    for (std::size_t i = values.size(); i > 1; --i) std::swap(values[i - 1], values[index(i)]);
  }

 private:
  std::mt19937_64 engine_;
};

}  // namespace kvedit::reference
