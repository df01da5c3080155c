#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <sstream>
#include <string>

#include <catch2/catch.hpp>
#include <kvedit/host.hpp>
#include <kvedit/json.hpp>

#include "compare.hpp"
#include "generate.hpp"
#include "reference/promises.hpp"
#include "settings.hpp"
#include "shrink.hpp"

namespace kvedit::property {
namespace {

void show(const char* what, std::uint64_t first, std::uint64_t cases, const Tally& tally) {
  std::cout << what << ": " << cases << " cases from seed " << first << ": " << tally.served
            << " served (" << tally.layers << " layers, " << tally.kernel_paged
            << " of them kernel-paged), " << tally.refused << " refused (" << tally.other_codes
            << " with another code), " << tally.unclaimed << " kernel-paged that no rule claims, "
            << tally.undetermined << " undetermined\n";
  for (const auto& [why, refused] : tally.no_rule)
    std::cout << what << ": " << refused << " refused: " << why << "\n";
}

Faults faults_of(const RegistrationData& data, const Host& host, Excuse excuse, Tally& tally) {
  const Result result = host.edit(Registration(data));
  Faults faults = differences(reference::judge(data), result, excuse, tally);
  const Faults broken = reference::broken_promises(result);
  faults.insert(faults.end(), broken.begin(), broken.end());
  return faults;
}

/// The failure as small as it gets, and how to see it again.
std::string shrunk(const std::string& what, const Case& made, std::uint64_t seed, const Host& host,
                   Excuse excuse) {
  const std::function<Faults(const RegistrationData&)> judge = [&](const RegistrationData& next) {
    Tally tally;
    return faults_of(next, host, excuse, tally);
  };
  const RegistrationData small = shrink(made.data, judge);
  return what + ", seed " + std::to_string(seed) + ": " + made.story + "\n" + joined(judge(small)) +
         how_to_replay(Catch::getResultCapture().getCurrentTestName(), seed,
                       keep(small, what + "-" + std::to_string(seed))) +
         write_registration(small);
}

/// The one that is given, or all that are kept because they were wrong once.
std::vector<std::string> files_to_replay(const std::string& given) {
  if (!given.empty()) return {given};
  std::vector<std::string> files;
  for (const auto& entry :
       std::filesystem::directory_iterator(std::string(KVEDIT_TEST_DATA) + "/property/found"))
    files.push_back(entry.path().string());
  std::sort(files.begin(), files.end());
  return files;
}

Tally run(const char* what, Case (*make)(std::uint64_t), Excuse excuse, std::uint64_t cases) {
  const Host host = open_host();
  const std::uint64_t first = setting("KVEDIT_SEED", 1);
  Tally tally;
  std::size_t failures = 0;
  const std::clock_t start = std::clock();
  for (std::uint64_t seed = first; seed < first + cases && failures < 5; ++seed) {
    const Case made = make(seed);
    const Faults faults = faults_of(made.data, host, excuse, tally);
    if (faults.empty()) continue;
    ++failures;
    UNSCOPED_INFO(shrunk(what, made, seed, host, excuse));
    CHECK(faults.empty());
  }
  show(what, first, cases, tally);
  show_speed(what, cases, start);
  return tally;
}

}  // namespace

TEST_CASE("layouts an engine could make are served as the definition says") {
  const std::uint64_t cases = cases_to_run(20'000);
  const Tally tally = run("right", right_case, Excuse::no_rule, cases);
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

TEST_CASE("registrations to replay are as right as the definition says") {
  const char* path = std::getenv("KVEDIT_REPLAY");
  const Host host = open_host();
  for (const std::string& file : files_to_replay(path != nullptr ? path : "")) {
    std::ostringstream text;
    text << std::ifstream(file).rdbuf();
    const Expected<Registration> read = read_registration(text.str());
    INFO(file << (read ? "" : ": " + read.error().text()));
    REQUIRE(read.has_value());
    Tally tally;
    const Result result = host.edit(*read);
    Faults faults = faults_of(read->data(), host, Excuse::accident, tally);
    for (const Faults& more :
         {reference::broken_promises(host, result), reference::broken_texts(host, result)})
      faults.insert(faults.end(), more.begin(), more.end());
    INFO(joined(faults));
    CHECK(faults.empty());
  }
}

}  // namespace kvedit::property
