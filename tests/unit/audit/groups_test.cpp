#include <catch2/catch.hpp>

#include "audit/retention.hpp"
#include "layers.hpp"
#include "pipeline.hpp"

using namespace kvedit;
using namespace kvedit::testing;

namespace {

Spec kept_spec(const char* type, std::vector<Attribute> more = {}) {
  return spec(type, 16, 1024, std::move(more));
}

audit::Kept kept(const std::vector<Spec>& leaves) {
  std::vector<LayerRef> layers;
  for (const Spec& leaf : leaves) layers.emplace_back().spec = &leaf;
  return audit::retention_of(kept_spec("FullAttentionSpec"), layers);
}

Retention retention(const char* type, std::vector<Attribute> more = {}) {
  return kept({kept_spec(type, std::move(more))}).retention;
}

const Attribute scratch{"prefix_cacheable", Value::of(false)};

Result edited(const RegistrationData& data, EditOptions options = {}) {
  return Result(run_pipeline(Registration(data), options, std::make_shared<const RuleBook>()));
}

/// Two layers whose pages share each block of one arena, behind a header of 4,096 bytes.
RegistrationData arena() {
  RegistrationData data;
  data.num_blocks = 4;
  data.storages = {{"unused", 64, "cpu"}, {"arena", 1 << 20, "cpu"}};
  data.groups.push_back(dense_group());
  for (std::int64_t l = 0; l < 2; ++l) {
    const std::string name = "layer " + std::to_string(l);
    data.groups[0].layers.push_back(name);
    data.caches.push_back(
        {name,
         {tensor("bfloat16", {4, 1, 16, 32}, {1536, 512, 32, 1}, 2048 + l * 512, "arena")},
         false});
  }
  return data;
}

}  // namespace

TEST_CASE("retention follows the kind of the spec") {
  CHECK(retention("FullAttentionSpec") == Retention::full);
  CHECK(retention("MLAAttentionSpec") == Retention::full);
  CHECK(retention("SinkFullAttentionSpec") == Retention::full);
  CHECK(retention("AcmeSpec") == Retention::full);
  CHECK(retention("SlidingWindowSpec") == Retention::window);
  CHECK(retention("SlidingWindowMLASpec") == Retention::window);
  CHECK(retention("ChunkedLocalAttentionSpec") == Retention::chunk);
  CHECK(kept({states(16, 1024, {16})}).retention == Retention::recurrent);
  // An engine without a hybrid cache keeps every block of a layer with a window.
  CHECK(retention("FullAttentionSpec", {field("sliding_window", 1024)}) == Retention::full);
}

TEST_CASE("retention: what is no prefix is scratch, whatever its kind") {
  CHECK(retention("SlidingWindowSpec", {scratch}) == Retention::scratch);
  CHECK(retention("AcmeSpec", {scratch}) == Retention::scratch);
}

TEST_CASE("the window is the spec's, and unknown where the spec does not say it") {
  const auto window = [](std::int64_t tokens) {
    return kept_spec("SlidingWindowSpec", {field("sliding_window", tokens)});
  };
  const Spec silent = kept_spec("SlidingWindowSpec");
  CHECK(kept({window(1024)}).window_tokens == 1024);
  CHECK(kept({window(512), window(1024), window(512)}).window_tokens == 1024);
  CHECK_FALSE(kept({silent}).window_tokens);
  CHECK_FALSE(kept({window(512), silent}).window_tokens);
  CHECK_FALSE(kept({silent, window(512)}).window_tokens);
  for (const std::int64_t tokens : {std::int64_t{0}, std::int64_t{-1}, INT64_MIN})
    CHECK_FALSE(kept({window(tokens)}).window_tokens);
}

TEST_CASE("layers of one group that differ are kept as long as the one that needs most") {
  const Spec full = kept_spec("FullAttentionSpec");
  const Spec window = kept_spec("SlidingWindowSpec", {field("sliding_window", 64)});
  const Spec never = kept_spec("SlidingWindowSpec", {scratch});
  CHECK(kept({window, full}).retention == Retention::full);
  CHECK_FALSE(kept({window, full}).window_tokens);
  CHECK(kept({full, window}).retention == Retention::full);
  CHECK(kept({never, window}).retention == Retention::window);
  CHECK(kept({never, window}).window_tokens == 64);
  CHECK(kept({never, never}).retention == Retention::scratch);
  CHECK(kept({}).retention == Retention::full);  // the group's own
}

TEST_CASE("an allocation is one range from the first to the last byte that blocks own") {
  const Result result = edited(arena());
  REQUIRE(result.ok());
  // Blocks are 3,072 bytes apart; the last page of layer 1 ends 1,024 + 3·3,072 + 1,024 behind the
  // first byte of layer 0.
  CHECK(result.allocations() == std::vector<Allocation>{{1, 4096, 11264, {0, 1}}});
}

TEST_CASE("allocations: one for each storage, with the layers that own bytes of it") {
  RegistrationData data = dense_data({"a", "b"});
  const Result result = edited(data);
  REQUIRE(result.ok());
  CHECK(result.allocations() == std::vector<Allocation>{{0, 0, 4096, {0}}, {1, 0, 4096, {1}}});
}

TEST_CASE("allocations hold scratch layers, not excluded ones, and nothing of a refused result") {
  RegistrationData data = dense_data({"kept", "scratch", "left out"});
  const std::vector<std::string> names = data.groups[0].layers;
  data.groups.resize(3, dense_group());
  for (std::size_t g = 0; g < 3; ++g) data.groups[g].layers = {names[g]};
  data.groups[1].spec.prefix_cacheable = false;
  data.groups[2].enable_kv_transfer = false;
  const Result result = edited(data);
  REQUIRE(result.ok());
  CHECK(result.layer(1).outcome() == Outcome::scratch);
  CHECK(result.layer(2).outcome() == Outcome::excluded);
  CHECK(result.allocations() == std::vector<Allocation>{{0, 0, 4096, {0}}, {1, 0, 4096, {1}}});

  data.caches[0].tensors[0].shape[0] = 5;
  const Result refused = edited(data);
  CHECK_FALSE(refused.ok());
  CHECK(refused.allocations().empty());
}
