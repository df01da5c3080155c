// The shrinker, given judges that lie: what is wrong is known, and so is how small it can get.

#include <algorithm>
#include <cstdio>
#include <fstream>
#include <sstream>

#include <catch2/catch.hpp>
#include <kvedit/json.hpp>

#include "generate.hpp"
#include "known.hpp"
#include "settings.hpp"
#include "shrink.hpp"

namespace kvedit::property {
namespace {

/// Says that one byte of padding belongs to the payload.
Faults judge_with_a_lie(const Recipe& recipe, const Host& host) {
  Drawn drawn = construct(recipe);
  if (!drawn.possible || !drawn.unique) return {};
  for (KnownLayer& layer : drawn.layers)
    for (std::size_t block = 0; block < layer.payload.size(); ++block)
      if (layer.excluded.empty() && layer.window && layer.payload[block].size() == 1 &&
          layer.payload[block].back().end < layer.owned[block].back().end)
        ++layer.payload[block].back().end;
  DrawnTally tally;
  return faults_of(drawn, host, false, tally);
}

/// Counts anything that is registered.
std::size_t size_of(const RegistrationData& data) {
  std::size_t size = data.placements.size() + data.storages.size();
  for (const Group& group : data.groups) size += 1 + group.layers.size();
  for (const Cache& cache : data.caches) size += cache.tensors.size();
  return size;
}

}  // namespace

TEST_CASE("a drawn layout that a lie condemns is shrunk to one padded page") {
  const Host host = open_host();
  const std::function<Faults(const Recipe&)> judge = [&](const Recipe& recipe) {
    return judge_with_a_lie(recipe, host);
  };
  std::size_t tried = 0;
  for (std::uint64_t seed = 1; tried < 5 && seed < 400; ++seed) {
    const Recipe start = draw(seed);
    const Faults before = judge(start);
    if (before.empty() || start.groups.size() < 2 ||
        before.front().find("block bytes") == std::string::npos)
      continue;
    ++tried;
    const Recipe small = shrink(start, judge);
    INFO("seed " << seed << ": " << story_of(start) << " became " << story_of(small));
    CHECK(kind_of(judge(small)) == kind_of(before));
    REQUIRE(small.groups.size() == 1);
    REQUIRE(small.groups[0].layers.size() == 1);
    const LayerRecipe& layer = small.groups[0].layers[0];
    CHECK(layer.pad + layer.scales + layer.tensors[0].row_gap <= 2);
    CHECK(small.blocks == 2);
    CHECK(small.dcp == 1);
    CHECK(small.storage_tail == 0);
    CHECK(small.groups[0].lead == 0);
    CHECK(layer.tensors.size() == 1);
    CHECK(construct(small).data.caches[0].tensors[0].shape.size() <= 2);
    for (const Recipe& next : simpler(small)) CHECK(kind_of(judge(next)) != kind_of(before));
  }
  CHECK(tried == 5);
}

TEST_CASE("a registration that a lie condemns is shrunk, written and read again") {
  const Host host = open_host();
  // Two layers at one place are said to be right.
  const std::function<Faults(const RegistrationData&)> judge = [&](const RegistrationData& data) {
    const Result result = host.edit(Registration(data));
    for (const Problem& problem : result.problems())
      if (problem.code == Code::overlap) return Faults{"refused, but it is right: overlap: lie"};
    return Faults{};
  };
  std::size_t tried = 0;
  for (std::uint64_t seed = 1; tried < 3 && seed < 4000; ++seed) {
    const RegistrationData start = changed_case(seed).data;
    if (start.groups.size() < 2 || judge(start).empty()) continue;
    ++tried;
    const RegistrationData small = shrink(start, judge);
    INFO("seed " << seed << ": " << write_registration(small));
    CHECK_FALSE(judge(small).empty());
    CHECK(small.groups.size() == 1);
    CHECK(small.groups[0].layers.size() <= 2);
    CHECK(size_of(small) <= size_of(start));
    CHECK(small.layout.empty());
    for (const RegistrationData& next : simpler(small)) CHECK(judge(next).empty());

    const std::string path = keep(small, "shrink-test-" + std::to_string(seed));
    std::ostringstream text;
    text << std::ifstream(path).rdbuf();
    const auto read = read_registration(text.str());
    REQUIRE(read.has_value());
    CHECK_FALSE(judge(read->data()).empty());
    CHECK(how_to_replay("name", seed, path).find("explain " + path) != std::string::npos);
    std::remove(path.c_str());
  }
  CHECK(tried == 3);
}

TEST_CASE("the kind of a fault has no numbers and ends before the message") {
  CHECK(kind_of({}).empty());
  CHECK(kind_of({"layers.0.1: payload of block 3 differ: 4 bytes"}) ==
        kind_of({"layers.2.0: payload of block 11 differ: 5 bytes"}));
  CHECK(kind_of({"refused, but it is right: overlap: layer a"}) !=
        kind_of({"refused, but it is right: profile: layer a"}));
  CHECK(kind_of({"refused, but it is right: overlap: layer a"}) ==
        kind_of({"refused, but it is right: overlap: layer b"}));
}

}  // namespace kvedit::property
