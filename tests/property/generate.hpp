#pragma once

#include <cstdint>
#include <string>

#include <kvedit/registration.hpp>

namespace kvedit::property {

struct Case {
  RegistrationData data;
  std::string story;  ///< how it was made: families, then what was done to them
};

/// A small registration that an engine could have made.
Case right_case(std::uint64_t seed);

/// A right one with one to three things changed; some changes do no harm.
Case changed_case(std::uint64_t seed);

/// Extents, strides and sizes without a plan: axes in any order, pages that may fit by accident.
Case wild_case(std::uint64_t seed);

}  // namespace kvedit::property
