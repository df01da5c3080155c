#include <cstdint>
#include <cstdlib>
#include <iostream>
#include <string>

#include <catch2/catch.hpp>
#include <kvedit/host.hpp>
#include <kvedit/json.hpp>

#include "compare.hpp"
#include "generate.hpp"

namespace kvedit::property {
namespace {

/// A number from the environment: `KVEDIT_CASES` and `KVEDIT_SEED`.
std::uint64_t setting(const char* name, std::uint64_t otherwise) {
  const char* text = std::getenv(name);
  return text == nullptr ? otherwise : std::strtoull(text, nullptr, 10);
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

void show(const char* what, std::uint64_t first, std::uint64_t cases, const Tally& tally) {
  std::cout << what << ": " << cases << " cases from seed " << first << ": " << tally.served
            << " served (" << tally.layers << " layers, " << tally.kernel_paged
            << " of them kernel-paged), " << tally.refused << " refused (" << tally.other_codes
            << " with another code), " << tally.unclaimed << " kernel-paged that no rule claims, "
            << tally.not_shown << " that the profile cannot show, " << tally.undetermined
            << " undetermined\n";
}

Tally run(const char* what, Case (*make)(std::uint64_t), Excuse excuse, std::uint64_t cases) {
  const Host host = open_host();
  const std::uint64_t first = setting("KVEDIT_SEED", 1);
  Tally tally;
  std::size_t failures = 0;
  for (std::uint64_t seed = first; seed < first + cases && failures < 5; ++seed) {
    const Case made = make(seed);
    const reference::Truth truth = reference::judge(made.data);
    const Result result = host.edit(Registration(made.data));
    const std::vector<std::string> faults = differences(truth, result, excuse, tally);
    if (faults.empty()) continue;
    ++failures;
    UNSCOPED_INFO(what << ", KVEDIT_SEED=" << seed << " (" << made.story << ")\n"
                       << joined(faults) << write_registration(made.data));
    CHECK(faults.empty());
  }
  show(what, first, cases, tally);
  return tally;
}

}  // namespace

TEST_CASE("layouts an engine could make are served as the definition says") {
  const std::uint64_t cases = setting("KVEDIT_CASES", 3000);
  const Tally tally = run("right", right_case, Excuse::unclaimed, cases);
  if (cases < 1000) return;
  CHECK(tally.served > cases / 2);
  CHECK(tally.kernel_paged > cases / 20);
}

TEST_CASE("changed layouts are served only where they still are right") {
  const std::uint64_t cases = setting("KVEDIT_CASES", 3000);
  const Tally tally = run("changed", changed_case, Excuse::accident, cases);
  if (cases >= 1000) CHECK(tally.refused > cases / 4);
}

TEST_CASE("axes in any order and pages that fit by accident are read as the definition says") {
  const std::uint64_t cases = setting("KVEDIT_CASES", 3000);
  const Tally tally = run("wild", wild_case, Excuse::accident, cases);
  if (cases >= 1000) CHECK(tally.served > cases / 20);
}

}  // namespace kvedit::property
