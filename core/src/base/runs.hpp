#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include <kvedit/result.hpp>

#include "base/inline_vector.hpp"
#include "base/int128.hpp"

namespace kvedit {

/// Sets of bytes as sorted, disjoint, not touching ranges.
using Ranges = std::vector<Range>;

constexpr std::size_t max_steps = 16;
constexpr std::int64_t max_runs = 65536;

struct Step {
  std::int64_t extent = 1;
  std::int64_t stride = 0;  // bytes

  bool operator==(const Step&) const = default;
};

/// Bytes `[Σ i·stride, Σ i·stride + run)` for all indices, with steps merged where they are dense.
/// The canonical form of a strided box: equal byte sets of nested boxes have equal runs and steps.
class Strided {
 public:
  /// @param item  bytes at each index; extents and strides are positive and the sums fit 63 bits
  explicit Strided(std::int64_t item) : run_(item) {}

  /// Adds a step; call `merge` after the last one.
  void add(Step step) {
    if (step.extent > 1) steps_.push_back(step);
  }
  void merge();

  std::int64_t run() const { return run_; }
  const InlineVector<Step, max_steps>& steps() const { return steps_; }  // innermost first

  bool dense() const { return steps_.empty(); }
  /// From the first byte to one behind the last.
  std::int64_t span() const;
  /// Bytes counted with repetition.
  Int128 bytes() const;
  /// Every step is at least as long as what lies inside it: no byte is met twice.
  bool nested() const;

  bool operator==(const Strided&) const = default;

 private:
  std::int64_t run_;
  InlineVector<Step, max_steps> steps_;
};

/// The runs of the set, moved by `base`. Nothing when there are more than `max_runs`.
/// `twice` tells whether a byte is met twice.
struct Expanded {
  Ranges ranges;
  bool twice = false;
};
std::optional<Expanded> expand(const Strided& set, std::int64_t base);

/// Sorts and merges; tells whether ranges shared a byte.
bool normalise(Ranges& ranges);

/// Both normalised.
bool contains(const Ranges& outer, const Ranges& inner);

std::int64_t total(const Ranges& ranges);

}  // namespace kvedit
