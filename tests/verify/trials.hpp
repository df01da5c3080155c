#pragma once

#include <set>
#include <string>

#include <kvedit/result.hpp>

#include "verify/verify.hpp"

namespace kvedit::verify {

/// What kvedit says about a given registration.
Result result_of(const std::string& name, Profile profile = Profile::native);

/// 80 attention layers of 100,000 blocks in one storage of 524 GB; with heads outside, a
/// block is eight runs far apart.
RegistrationData half_a_terabyte(bool heads_outside);

/// Moves two blocks of each group.
Report report_of(const Result& result, const Answers& answers);

/// Names of layers with a fault that begins with `kind`.
std::set<std::string> faulty(const Result& result, const Report& report, const std::string& kind);

/// All faults, a line each.
std::string faults_of(const Report& report);

}  // namespace kvedit::verify
