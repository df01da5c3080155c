#include <map>

#include <catch2/catch.hpp>

#include "given.hpp"

namespace kvedit::golden {
namespace {

struct Reached {
  std::int64_t begin = INT64_MAX, end = 0;
  std::set<std::string> layers;

  bool operator==(const Reached&) const = default;
};

/// First and last byte that any block of any layer is expected to own, by storage. Block strides
/// are positive, so that the first and the last block reach farthest.
std::map<std::int32_t, Reached> expected_reach(const std::string& name,
                                               const RegistrationData& data) {
  std::map<std::int32_t, Reached> reached;
  for (const auto& [layer, expected] : expected_report(name).layers) {
    if (expected.outcome == "excluded") continue;
    for (const std::int64_t block : some_blocks(expected.blocks))
      for (const Span& run : expected_owned(expected, block, data).runs) {
        Reached& each = reached[run.storage];
        each.begin = std::min(each.begin, run.begin);
        each.end = std::max(each.end, run.end);
        each.layers.insert(layer);
      }
  }
  return reached;
}

std::map<std::int32_t, Reached> told_reach(const Result& result) {
  std::map<std::int32_t, Reached> reached;
  for (const Allocation& each : result.allocations()) {
    Reached& told = reached[each.storage];
    told = {each.begin, each.begin + each.length, {}};
    for (const std::size_t layer : each.layers) told.layers.emplace(result.layer(layer).name());
  }
  return reached;
}

const GroupResult& group_of(const Result& result, std::size_t group) {
  REQUIRE(group < result.groups().size());
  return result.groups()[group];
}

Result edit(const std::string& name) {
  return standard_host().edit(Registration(given_registration(name)));
}

}  // namespace

TEST_CASE("one range of each allocation holds every byte that is owned, and no storage twice") {
  std::size_t seen = 0;
  for (const std::string& name : registration_names()) {
    const Result result = edit(name);
    if (!result.ok()) continue;
    INFO(name);
    ++seen;
    CHECK(told_reach(result) == expected_reach(name, result.registration().data()));
    CHECK(told_reach(result).size() == result.allocations().size());
  }
  CHECK(seen >= 56);
}

TEST_CASE("right registrations are not warned that groups lie over each other") {
  std::size_t seen = 0;
  for (const std::string& name : registration_names()) {
    const Result result = edit(name);
    if (!result.ok()) continue;
    INFO(name << "\n" << problems_of(result));
    ++seen;
    for (const Problem& problem : result.problems()) CHECK(problem.code != Code::overlap);
  }
  CHECK(seen >= 56);
}

TEST_CASE("groups of given registrations are kept as their kinds say") {
  const Result gemma = edit("gemma-3-sliding-mix");
  for (std::size_t g = 0; g < 5; ++g) {
    CHECK(group_of(gemma, g).retention == Retention::window);
    CHECK(group_of(gemma, g).window_tokens == 1024);
  }
  CHECK(group_of(gemma, 5).retention == Retention::full);
  CHECK_FALSE(group_of(gemma, 5).window_tokens);

  const Result glm = edit("glm-5.3-flash-blhnc");
  CHECK(group_of(glm, 0).retention == Retention::recurrent);
  CHECK(group_of(glm, 4).retention == Retention::full);
  CHECK(group_of(glm, 5).retention == Retention::scratch);

  const Result deepseek = edit("deepseek-v4-flash-blhnc");
  CHECK(group_of(deepseek, 0).retention == Retention::full);
  CHECK(group_of(deepseek, 1).retention == Retention::window);
  CHECK(group_of(deepseek, 1).window_tokens == 128);

  const Result tail = edit("v029-scratch-tail");
  CHECK(group_of(tail, 1).retention == Retention::scratch);
  CHECK_FALSE(group_of(tail, 1).window_tokens);
}

}  // namespace kvedit::golden
