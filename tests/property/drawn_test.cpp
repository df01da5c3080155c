#include <ctime>
#include <iostream>

#include <catch2/catch.hpp>
#include <kvedit/json.hpp>

#include "known.hpp"
#include "settings.hpp"
#include "shrink.hpp"

namespace kvedit::property {
namespace {

void show(std::uint64_t first, std::uint64_t cases, const DrawnTally& tally) {
  std::cout << "drawn: " << cases << " cases from seed " << first << ": " << tally.served
            << " served (" << tally.layers << " layers, " << tally.kernel_paged
            << " of them kernel-paged, " << tally.several << " in several tensors), "
            << tally.not_unique << " by the definition\n";
  for (const auto& [why, refused] : tally.no_rule)
    std::cout << "drawn: " << refused << " refused: " << why << "\n";
}

constexpr const char* test_name = "layouts with one reading are served to the byte";

/// The failure as small as it gets, and how to see it again.
std::string shrunk(const Recipe& recipe, std::uint64_t seed, const Host& host) {
  const std::function<Faults(const Recipe&)> judge = [&](const Recipe& next) {
    const Drawn drawn = construct(next);
    DrawnTally tally;
    return drawn.possible ? faults_of(drawn, host, true, tally) : Faults{};
  };
  const Recipe small = shrink(recipe, judge);
  const RegistrationData data = construct(small).data;
  return "drawn, seed " + std::to_string(seed) + ": " + story_of(recipe) + "\nshrunk to " +
         story_of(small) + "\n" + joined(judge(small)) +
         how_to_replay(test_name, seed, keep(data, "drawn-" + std::to_string(seed))) +
         write_registration(data);
}

}  // namespace

TEST_CASE(test_name) {
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
    UNSCOPED_INFO(shrunk(recipe, seed, host));
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
