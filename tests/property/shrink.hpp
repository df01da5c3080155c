#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include <kvedit/registration.hpp>

#include "recipe.hpp"

namespace kvedit::property {

using Faults = std::vector<std::string>;

/// What kind of fault it is: its words without numbers, up to the message of a problem.
std::string kind_of(const Faults& faults);

/// Every registration that is one step simpler: a group, layer, placement, cache, storage or axis
/// less, halved extents, simpler numbers and words.
std::vector<RegistrationData> simpler(const RegistrationData& data);

/// The simplest that can be reached, step by step, and still fails in the way `start` does.
/// @param judge  what is wrong with it; empty when nothing is
/// @param most   how often `judge` is asked at most
template <class T>
T shrink(T start, const std::function<Faults(const T&)>& judge, std::size_t most = 20'000) {
  const std::string kind = kind_of(judge(start));
  for (bool found = true; found && most > 0;) {
    found = false;
    for (T& next : simpler(start)) {
      if (most-- == 0) return start;
      if (kind_of(judge(next)) != kind) continue;
      start = std::move(next);
      found = true;
      break;
    }
  }
  return start;
}

/// Writes the registration to `KVEDIT_FAILURES`, or where temporary files go, and gives the path.
std::string keep(const RegistrationData& data, const std::string& name);

/// How to see a failure again: by its number, by its file, in words.
std::string how_to_replay(const std::string& test, std::uint64_t seed, const std::string& path);

}  // namespace kvedit::property
