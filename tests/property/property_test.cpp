#include <cstdint>
#include <ctime>
#include <iostream>
#include <string>

#include <catch2/catch.hpp>
#include <kvedit/host.hpp>
#include <kvedit/json.hpp>

#include "compare.hpp"
#include "generate.hpp"
#include "settings.hpp"

namespace kvedit::property {
namespace {

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
  const std::clock_t start = std::clock();
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
  show_speed(what, cases, start);
  return tally;
}

}  // namespace

TEST_CASE("layouts an engine could make are served as the definition says") {
  const std::uint64_t cases = cases_to_run(20'000);
  const Tally tally = run("right", right_case, Excuse::unclaimed, cases);
  if (cases < 1000) return;
  CHECK(tally.served > cases / 2);
  CHECK(tally.kernel_paged > cases / 20);
}

TEST_CASE("changed layouts are served only where they still are right") {
  const std::uint64_t cases = cases_to_run(20'000);
  const Tally tally = run("changed", changed_case, Excuse::accident, cases);
  if (cases >= 1000) CHECK(tally.refused > cases / 4);
}

TEST_CASE("axes in any order and pages that fit by accident are read as the definition says") {
  const std::uint64_t cases = cases_to_run(20'000);
  const Tally tally = run("wild", wild_case, Excuse::accident, cases);
  if (cases >= 1000) CHECK(tally.served > cases / 20);
}

}  // namespace kvedit::property
