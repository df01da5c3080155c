#pragma once

#include <cstdint>
#include <ctime>
#include <string>
#include <vector>

#include <kvedit/host.hpp>

namespace kvedit::property {

/// A number from the environment, or `otherwise`.
std::uint64_t setting(const char* name, std::uint64_t otherwise);

/// `KVEDIT_CASES`, or as many as are due: fewer where a sanitizer looks on.
std::uint64_t cases_to_run(std::uint64_t in_release);

/// With the standard rules and nothing else.
Host open_host();

/// A line a fault, the first dozen.
std::string joined(const std::vector<std::string>& faults);

/// Prints cases per second of processor time; decides nothing.
void show_speed(const char* what, std::uint64_t cases, std::clock_t start);

}  // namespace kvedit::property
