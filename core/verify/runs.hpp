#pragma once

#include <compare>
#include <cstdint>
#include <vector>

namespace kvedit::verify {

/// Bytes of a storage that follow each other.
struct Run {
  std::int32_t storage = 0;
  std::int64_t begin = 0;
  std::int64_t length = 0;

  std::int64_t end() const { return begin + length; }
  auto operator<=>(const Run&) const = default;
};

/// In the order in which they were met, or, where said, as a set: sorted and apart.
using Runs = std::vector<Run>;

/// Appends; a run that goes on where the last one ends lengthens it.
void append(Runs& runs, const Run& run);

std::int64_t total(const Runs& runs);

/// Makes a set of it. True when a byte was there twice.
bool make_set(Runs& runs);

/// Whether all bytes of one set are in the other.
bool contains(const Runs& outer, const Runs& inner);

/// Bytes that two sets share.
std::int64_t shared(const Runs& one, const Runs& other);

/// Bytes that go from one place to another.
struct Copy {
  Run from;
  Run to;  ///< as long
};

/// Byte by byte in their orders; as many as the shorter has.
std::vector<Copy> pair_up(const Runs& from, const Runs& to);

}  // namespace kvedit::verify
