#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include <kvedit/error.hpp>

#include "memory.hpp"
#include "pattern.hpp"
#include "runs.hpp"

namespace kvedit::verify {

/// The bytes of a memory that take part in a trial, and beside them what they must be after it.
/// Before it, every byte tells its storage and offset.
class Stage {
 public:
  /// @param touched  a set inside the memory
  static Expected<Stage> of(const Memory& memory, Runs touched, std::uint64_t seed);

  /// Memory and expectation as at the beginning.
  void paint();
  /// What the byte at `from` was before the trial is expected at `to`.
  void expect(const Copy& copy);
  void expect_wiped(const Run& run, bool garbage);
  /// Whatever lies there now is right.
  void accept(const Run& run);

  void wipe(const Run& run, bool garbage) const;
  /// @pre on_stage(run)
  std::span<std::byte> bytes(const Run& run) const;
  bool on_stage(const Run& run) const;

  /// Bytes in words that are as expected as a whole; single bytes are right by chance.
  std::int64_t right(const Run& run) const;
  std::int64_t wrong(const Run& run) const;  ///< bytes, part of it off stage is left out
  std::int64_t wrong() const;
  std::int64_t size() const;

 private:
  Stage(const Memory& memory, Runs touched, Mapping expected, std::uint64_t seed);

  std::size_t window_of(const Run& run) const;
  std::span<std::byte> expected(const Run& run) const;
  Pattern painted(const Run& run) const;
  void paint_wiped(std::span<std::byte> bytes, const Run& run, bool garbage) const;

  const Memory* memory_;
  Runs windows_;
  std::vector<std::int64_t> window_at_;  // in the expectation
  Mapping expected_;
  std::uint64_t seed_;
};

}  // namespace kvedit::verify
