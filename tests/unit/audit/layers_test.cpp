#include <catch2/catch.hpp>

#include "audit/apart.hpp"
#include "audit/groups.hpp"
#include "audit/sharing.hpp"
#include "layers.hpp"
#include "pipeline.hpp"

using namespace kvedit;
using namespace kvedit::testing;

namespace {

struct Place {
  std::int64_t offset, stride;  // bytes
};

/// Layers of one group, four pages of 1,024 bytes each at the given places of one arena.
RegistrationData arena(const std::vector<Place>& places) {
  RegistrationData data;
  data.num_blocks = 4;
  data.storages.push_back({"arena", 1 << 20, "cpu"});
  data.groups.push_back({});
  data.groups[0].spec = spec("FullAttentionSpec", 16, 1024);
  for (std::size_t i = 0; i < places.size(); ++i) {
    const std::string name = "layer " + std::to_string(i);
    data.groups[0].layers.push_back(name);
    data.caches.push_back(
        {name,
         {tensor("int8", {4, 1024}, {places[i].stride, 1}, places[i].offset, "arena")},
         false});
  }
  return data;
}

std::shared_ptr<const Edit> edited(const RegistrationData& data, EditOptions options = {}) {
  return run_pipeline(Registration(data), options, std::make_shared<const RuleBook>());
}

std::optional<audit::Shared> shared(const std::vector<Place>& places, std::int64_t steps = 10000) {
  const auto edit = edited(arena(places));
  std::vector<std::size_t> layers;
  for (std::size_t i = 0; i < places.size(); ++i) layers.push_back(i);
  return audit::shared(*edit, layers, steps);
}

void check_shared(const std::vector<Place>& places, std::size_t layer, std::size_t other) {
  const auto found = shared(places);
  REQUIRE(found);
  CHECK(found->layer == layer);
  CHECK(found->other == other);
  CHECK(found->decided);
}

std::optional<std::string> owner_of(RegistrationData data, const Tensor& tensor) {
  data.caches.push_back({"lone", {tensor}, false});
  data.storages.push_back({"other", 1 << 20, "cpu"});
  const auto edit = edited(data);
  const auto found = audit::shares_with(*edit, static_cast<std::int32_t>(data.caches.size() - 1));
  return found ? std::optional<std::string>(*found) : std::nullopt;
}

Group empty_group(const char* type, std::int64_t block_size) {
  Group group;
  group.spec = spec(type, block_size, 1024, {field("mamba_cache_mode", "align")});
  return group;
}

std::optional<std::int64_t> chunk_of(std::vector<Group> groups) {
  RegistrationData data;
  data.num_blocks = 4;
  data.groups = std::move(groups);
  const auto edit = edited(data);
  CHECK(edit->ok);
  return edit->chunk_tokens;
}

}  // namespace

TEST_CASE("apart: layers one behind the other, or side by side in each block of an arena") {
  CHECK_FALSE(shared({{0, 1024}, {4096, 1024}, {8192, 1024}}));
  CHECK_FALSE(shared({{0, 3072}, {1024, 3072}, {2048, 3072}}));
  CHECK_FALSE(shared({{2048, 3072}, {0, 3072}, {1024, 3072}}));
}

TEST_CASE("apart: layers of equal strides that share a byte") {
  check_shared({{0, 3072}, {1023, 3072}}, 1, 0);
  check_shared({{0, 3072}, {1024, 3072}, {2047, 3072}}, 2, 1);
  check_shared({{2049, 3072}, {0, 3072}}, 1, 0);  // the second's next block
  check_shared({{0, 1024}, {3072, 1024}}, 1, 0);  // its first block is the other's last
}

TEST_CASE("apart: layers of different strides") {
  CHECK_FALSE(shared({{0, 1024}, {4096, 2048}}));
  CHECK_FALSE(shared({{0, 3000}, {1024, 6000}}));
  check_shared({{0, 3000}, {5500, 6000}}, 1, 0);  // block 2 lies at 6,000
  check_shared({{0, 1024}, {1024, 2048}}, 1, 0);
}

TEST_CASE("apart: what cannot be decided in the steps allowed is not called apart") {
  const auto found = shared({{0, 3000}, {1025, 7000}}, 1);
  if (found) CHECK_FALSE(found->decided);
  CHECK(found);
}

TEST_CASE("apart: groups may overlay each other, layers of one group may not") {
  RegistrationData data = arena({{0, 1024}});
  data.groups.push_back(data.groups[0]);
  data.groups[1].layers = {"other"};
  data.caches.push_back({"other", data.caches[0].tensors, false});
  CHECK(edited(data)->ok);

  const auto edit = edited(arena({{0, 1024}, {512, 1024}}));
  CHECK_FALSE(edit->ok);
  REQUIRE(edit->problems.size() == 1);
  CHECK(edit->problems[0].code == Code::overlap);
  CHECK(edit->problems[0].layer == "layer 1");
  CHECK(edit->problems[0].message.find("layer 0") != std::string::npos);
}

TEST_CASE("sharing: a cache of no group whose bytes are a grouped layer's") {
  const RegistrationData data = arena({{0, 1024}, {4096, 1024}});
  CHECK(owner_of(data, data.caches[1].tensors[0]) == "layer 1");
  CHECK(owner_of(data, tensor("int8", {4, 100}, {1024, 1}, 4096 + 7, "arena")) == "layer 1");
  CHECK_FALSE(owner_of(data, tensor("int8", {4, 1025}, {1024, 1}, 4096, "arena")));
  CHECK_FALSE(owner_of(data, tensor("int8", {1, 8}, {8, 1}, 4092, "arena")));  // of two layers
  CHECK_FALSE(owner_of(data, tensor("int8", {4, 1024}, {1024, 1}, 0, "other")));
}

TEST_CASE("sharing: one tensor under two names of a group is a warning where nothing says so") {
  RegistrationData data = arena({{0, 1024}, {4096, 1024}});
  data.caches.push_back(data.caches[1]);
  data.caches[2].layer = "layer 2";
  data.groups[0].layers.push_back("layer 2");
  const auto edit = edited(data);
  CHECK(edit->ok);
  CHECK(edit->layers[2].outcome == Outcome::excluded);
  REQUIRE(edit->problems.size() == 1);
  const Problem& problem = edit->problems[0];
  CHECK(problem.severity == Severity::warning);
  CHECK(problem.code == Code::overlap);
  CHECK(problem.layer == "layer 2");
  CHECK(problem.facts == std::vector<Fact>{{"shares", "layer 1"}});
  CHECK(problem.message.find("the very ones of layer layer 1") != std::string::npos);

  // The engine says which layers have pages of their own, or that both lie there.
  for (const std::vector<std::string>& placed :
       {std::vector<std::string>{"layer 0", "layer 1"}, {"layer 0", "layer 1", "layer 2"}}) {
    RegistrationData said = data;
    said.placements.push_back({"arena", {placed[0], placed[1]}, 0, 4096, 1024});
    if (placed.size() > 2) said.placements.push_back({"arena", {placed[2]}, 4096, 0, 1024});
    const auto quiet = edited(said);
    CHECK(quiet->layers[2].outcome == Outcome::excluded);
    CHECK(quiet->problems.empty());
  }
}

TEST_CASE("groups: tokens of a block under decode context parallelism") {
  RegistrationData data;
  data.parallel.dcp = 2;
  Group attention = empty_group("FullAttentionSpec", 16), mamba = empty_group("MambaSpec", 16);
  CHECK(audit::tokens_per_block(data, attention, attention.spec) == 32);
  CHECK(audit::tokens_per_block(data, mamba, mamba.spec) == 16);
  attention.spec.dcp_sharded = false;
  mamba.spec.dcp_sharded = true;
  CHECK(audit::tokens_per_block(data, attention, attention.spec) == 16);
  CHECK(audit::tokens_per_block(data, mamba, mamba.spec) == 32);

  Group wrapper = empty_group("UniformTypeKVCacheSpecs", 16);
  wrapper.layers = {"first", "second"};
  wrapper.layer_specs.emplace("second", empty_group("FullAttentionSpec", 16).spec);
  wrapper.layer_specs.emplace("first", empty_group("MambaSpec", 16).spec);
  CHECK(audit::tokens_per_block(data, wrapper, wrapper.spec) == 16);
  wrapper.layers = {"second", "first"};
  CHECK(audit::tokens_per_block(data, wrapper, wrapper.spec) == 32);
}

TEST_CASE("groups: sums, slots and outcome of each") {
  RegistrationData data = arena({{0, 1024}, {4096, 1024}});
  data.groups[0].layer_specs.emplace(
      "layer 1", spec("FullAttentionSpec", 16, 1024, {field("compress_ratio", 4)}));
  data.groups.push_back(dense_group());
  add_dense_layer(data, 1, "scratch");
  data.groups[1].spec.prefix_cacheable = false;
  data.groups.push_back(dense_group());
  add_dense_layer(data, 2, "kept");
  data.groups[2].enable_kv_transfer = false;
  const auto edit = edited(data);
  REQUIRE(edit->ok);
  REQUIRE(edit->groups.size() == 3);
  const GroupResult& served = edit->groups[0];
  CHECK(served.outcome == GroupOutcome::served);
  CHECK(served.layers == 2);
  CHECK(served.block_bytes == 2048);
  CHECK_FALSE(served.slots_per_block);  // 16 and 4
  CHECK(served.tokens_per_block == 16);
  CHECK(edit->groups[1].outcome == GroupOutcome::scratch);
  CHECK(edit->groups[1].slots_per_block == 16);
  CHECK(edit->groups[1].block_bytes == 1024);
  CHECK(edit->groups[2].outcome == GroupOutcome::excluded);
  CHECK_FALSE(edit->groups[2].block_bytes);

  const auto moved = edited(data, {Profile::native, Purpose::transfer, false});
  CHECK(moved->groups[1].outcome == GroupOutcome::served);
  data.caches.pop_back();
  data.caches.pop_back();
  CHECK(edited(data)->groups[1].outcome == GroupOutcome::refused);
}

TEST_CASE("groups: one error and no group is served, whosever it is") {
  RegistrationData data = arena({{0, 1024}, {4096, 1024}});
  data.groups.push_back(dense_group());
  add_dense_layer(data, 1, "broken");
  data.caches.back().tensors[0].shape[0] = 0;
  data.groups.push_back(empty_group("FullAttentionSpec", 16));
  data.groups.push_back(dense_group());
  add_dense_layer(data, 3, "kept");
  data.groups[3].enable_kv_transfer = false;
  const auto edit = edited(data);
  REQUIRE_FALSE(edit->ok);
  for (const std::size_t g : {0U, 1U, 2U}) {
    INFO(g);
    CHECK(edit->groups[g].outcome == GroupOutcome::refused);
    CHECK_FALSE(edit->groups[g].block_bytes);
    CHECK_FALSE(edit->groups[g].slots_per_block);
  }
  CHECK(edit->groups[3].outcome == GroupOutcome::excluded);
  CHECK(edit->layers[0].outcome == Outcome::passed);  // by itself; it has no pages
  CHECK(edit->layers[2].outcome == Outcome::failed);
}

TEST_CASE("groups: the smallest chunk is the least common multiple over served groups") {
  const auto group = [](std::int64_t block_size) {
    return empty_group("FullAttentionSpec", block_size);
  };
  CHECK(chunk_of({group(48), group(32)}) == 96);
  CHECK(chunk_of({group(544)}) == 544);
  CHECK(chunk_of({}) == std::nullopt);
  Group excluded = group(7), scratch = group(5);
  excluded.enable_kv_transfer = false;
  scratch.spec.prefix_cacheable = false;
  CHECK(chunk_of({group(48), excluded, scratch}) == 48);
  CHECK(chunk_of({excluded}) == std::nullopt);
}

TEST_CASE("groups: a transfer counts scratch groups, with layers or without") {
  RegistrationData data = dense_data({"layer"});
  data.groups.push_back(empty_group("FullAttentionSpec", 5));
  data.groups[1].spec.prefix_cacheable = false;
  data.groups.push_back(dense_group());
  data.groups[2].spec = spec("FullAttentionSpec", 48, 1024);
  data.groups[2].spec.prefix_cacheable = false;
  add_dense_layer(data, 2, "ring");
  CHECK(edited(data)->chunk_tokens == 16);
  const auto moved = edited(data, {Profile::native, Purpose::transfer, false});
  CHECK(moved->groups[1].outcome == GroupOutcome::served);
  CHECK(moved->groups[2].outcome == GroupOutcome::served);
  CHECK(moved->chunk_tokens == 240);
  CHECK(moved->layers[1].outcome == Outcome::passed);
}

TEST_CASE("groups: a chunk beyond 63 bits is none, not a wrong one") {
  constexpr std::int64_t far = std::int64_t{1} << 62;
  const auto group = [](std::int64_t block_size) {
    return empty_group("FullAttentionSpec", block_size);
  };
  CHECK(chunk_of({group(far), group(far)}) == far);
  CHECK(chunk_of({group(far), group(3)}) == std::nullopt);
}
