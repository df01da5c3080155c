#include "settings.hpp"

#include <cstdlib>
#include <iostream>

#include <catch2/catch.hpp>

namespace kvedit::property {

#if defined(KVEDIT_SANITIZED)
constexpr std::uint64_t slower = 40;  // a sanitizer, and no optimisation
#elif defined(NDEBUG)
constexpr std::uint64_t slower = 1;
#else
constexpr std::uint64_t slower = 10;
#endif

std::uint64_t setting(const char* name, std::uint64_t otherwise) {
  const char* text = std::getenv(name);
  return text == nullptr ? otherwise : std::strtoull(text, nullptr, 10);
}

std::uint64_t cases_to_run(std::uint64_t in_release) {
  return setting("KVEDIT_CASES", in_release / slower);
}

Host open_host() {
  HostOptions options;
  options.standard_rules_dir = KVEDIT_RULES_DIR;
  Expected<Host> host = Host::open(options);
  REQUIRE(host.has_value());
  REQUIRE(host->rules().size() >= 4);
  return *host;
}

std::string joined(const std::vector<std::string>& faults) {
  std::string text;
  for (std::size_t i = 0; i < faults.size() && i < 12; ++i) text += "  " + faults[i] + "\n";
  return text;
}

void show_speed(const char* what, std::uint64_t cases, std::clock_t start) {
  const double taken = static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC;
  std::cout << what << ": "
            << static_cast<std::uint64_t>(static_cast<double>(cases) / (taken > 0 ? taken : 1))
            << " cases a second on one core\n";
}

}  // namespace kvedit::property
