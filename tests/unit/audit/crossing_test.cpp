#include "audit/crossing.hpp"

#include <catch2/catch.hpp>

#include "layers.hpp"
#include "pipeline.hpp"

using namespace kvedit;
using namespace kvedit::testing;

namespace {

using Facts = std::vector<Fact>;

struct Place {
  std::int64_t offset, stride;  // bytes
  std::size_t group;
  std::int64_t blocks = 4;
};

/// Layers of 1,024 bytes a block in one arena, each in the group that it names.
RegistrationData arena(const std::vector<Place>& places) {
  RegistrationData data;
  data.num_blocks = 4;
  data.storages.push_back({"arena", 1 << 20, "cpu"});
  for (std::size_t i = 0; i < places.size(); ++i) {
    const Place& place = places[i];
    if (data.groups.size() <= place.group) data.groups.resize(place.group + 1);
    Group& group = data.groups[place.group];
    group.spec = spec("FullAttentionSpec", 16, 1024);
    if (place.blocks != 4) group.num_blocks = place.blocks;
    const std::string name = "layer " + std::to_string(i);
    group.layers.push_back(name);
    data.caches.push_back(
        {name,
         {tensor("int8", {place.blocks, 1024}, {place.stride, 1}, place.offset, "arena")},
         false});
  }
  return data;
}

std::shared_ptr<const Edit> edited(const RegistrationData& data) {
  return run_pipeline(Registration(data), {}, std::make_shared<const RuleBook>());
}

void check_none(const std::vector<Place>& places) {
  const auto edit = edited(arena(places));
  CHECK(edit->ok);
  CHECK(edit->problems.empty());
}

Problem only_warning(const RegistrationData& data) {
  const auto edit = edited(data);
  CHECK(edit->ok);
  REQUIRE(edit->problems.size() == 1);
  CHECK(edit->problems[0].code == Code::overlap);
  CHECK(edit->problems[0].severity == Severity::warning);
  return edit->problems[0];
}

}  // namespace

TEST_CASE("crossing groups: overlays of one block id are how arenas work") {
  check_none({{0, 1024, 0}, {0, 1024, 1}, {0, 1024, 2}});
  check_none({{0, 3072, 0}, {1024, 3072, 0}, {512, 3072, 1}, {2048, 3072, 1}});
  check_none({{0, 1024, 0}, {4096, 1024, 1}, {0, 1024, 1}});
  check_none({{0, 1024, 0}, {8192, 2048, 1}});  // nowhere the same bytes
  check_none({{0, 1024, 0, 1}, {0, 2048, 1, 1}});
}

TEST_CASE("crossing groups: other strides put block 1 of one onto block 2 of the other") {
  const Problem problem = only_warning(arena({{0, 2048, 0}, {0, 1024, 1}}));
  CHECK(problem.group == 1);
  CHECK(problem.layer == "layer 1");
  CHECK(problem.facts == Facts{{"storage", "arena"},
                               {"byte", 2048},
                               {"block", 2},
                               {"other", "layer 0"},
                               {"other_group", 0},
                               {"other_block", 1}});
  for (const char* word : {"layer 1 of group 1 keeps block 2", "layer 0 of group 0 block 1",
                           "byte 2048", "arena", "check block stride"})
    CHECK(problem.message.find(word) != std::string::npos);
}

TEST_CASE("crossing groups: half a page further, and a region that begins inside another") {
  const Problem half = only_warning(arena({{0, 1024, 0}, {512, 1024, 1}}));
  CHECK(half.facts[1] == Fact{"byte", 1024});
  CHECK(half.facts[2] == Fact{"block", 0});
  CHECK(half.facts[5] == Fact{"other_block", 1});
  const Problem inside = only_warning(arena({{0, 1024, 0}, {2048, 1024, 1}}));
  CHECK(inside.facts[1] == Fact{"byte", 2048});
  CHECK(inside.facts[2] == Fact{"block", 0});
  CHECK(inside.facts[5] == Fact{"other_block", 2});
}

TEST_CASE("crossing groups: one warning for each pair of groups, none beside an error") {
  RegistrationData data =
      arena({{0, 2048, 0}, {8192, 2048, 0}, {0, 1024, 1}, {8192, 1024, 1}, {0, 1024, 2}});
  CHECK(edited(data)->problems.size() == 2);  // 0 and 1, 0 and 2
  data.groups[2].layers.push_back("never");
  const auto edit = edited(data);
  REQUIRE(edit->problems.size() == 1);
  CHECK(edit->problems[0].code == Code::missing_cache);
}

TEST_CASE("crossing groups: what is not moved is nobody's block") {
  RegistrationData data = arena({{0, 2048, 0}, {0, 1024, 1}});
  data.groups[1].enable_kv_transfer = false;
  CHECK(edited(data)->problems.empty());
}
