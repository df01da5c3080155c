#include <ctime>
#include <iostream>

#include <catch2/catch.hpp>
#include <kvedit/json.hpp>

#include "known.hpp"
#include "settings.hpp"

namespace kvedit::property {
namespace {

void show(std::uint64_t first, std::uint64_t cases, const DrawnTally& tally) {
  std::cout << "drawn: " << cases << " cases from seed " << first << ": " << tally.served
            << " served (" << tally.layers << " layers, " << tally.kernel_paged
            << " of them kernel-paged, " << tally.several << " in several tensors), "
            << tally.unclaimed << " kernel-paged that no rule claims, " << tally.not_shown
            << " that the profile cannot show, " << tally.by_accident << " claimed by accident, "
            << tally.not_unique << " by the definition\n";
}

}  // namespace

TEST_CASE("layouts with one reading are served to the byte") {
  const Host host = open_host();
  const std::uint64_t first = setting("KVEDIT_SEED", 1), cases = cases_to_run(40'000);
  DrawnTally tally;
  std::size_t failures = 0, impossible = 0;
  const std::clock_t start = std::clock();
  for (std::uint64_t seed = first; seed < first + cases && failures < 5; ++seed) {
    const Recipe recipe = draw(seed);
    const Drawn drawn = construct(recipe);
    if (!drawn.possible) {
      ++impossible;
      continue;
    }
    const std::vector<std::string> faults = faults_of(drawn, host, seed % 8 == 0, tally);
    if (faults.empty()) continue;
    ++failures;
    UNSCOPED_INFO("drawn, KVEDIT_SEED=" << seed << " (" << story_of(recipe) << ")\n"
                                        << joined(faults) << write_registration(drawn.data));
    CHECK(faults.empty());
  }
  show(first, cases, tally);
  show_speed("drawn", cases, start);
  CHECK(impossible <= cases / 50);
  if (cases < 1000) return;
  CHECK(tally.served > cases / 2);
  CHECK(tally.several > cases / 20);
}

}  // namespace kvedit::property
