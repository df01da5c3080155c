#include "prove/settle.hpp"

#include <catch2/catch.hpp>

#include "layers.hpp"
#include "prove/prove.hpp"
#include "prove/sane.hpp"

using namespace kvedit;
using namespace kvedit::testing;

namespace {

/// One layer of four blocks whose class is proved, then settled.
struct Settled {
  RegistrationData data;

  explicit Settled(const Tensor& tensor, Spec spec, std::int64_t nbytes) {
    data.num_blocks = 4;
    data.storages.push_back({"s0", nbytes, "cpu"});
    data.caches.push_back({"a", {tensor}, false});
    Group group;
    group.layers.push_back("a");
    group.spec = std::move(spec);
    data.groups.push_back(std::move(group));
  }

  std::optional<Failure> run(const ViewShape* view = nullptr) const {
    const Registration registration(data);
    const LayerRef& layer = registration.index().layers[0];
    Layer made{data.groups[0].spec, data.caches[0].tensors, 4};
    LayerClass of;
    of.facts = made.facts();
    auto proof = prove::prove(of.facts, nullptr);
    REQUIRE(std::holds_alternative<ProvedPage>(proof));
    of.page = std::get<ProvedPage>(proof);
    if (view) of.views.push_back(*view);
    for (const Tensor& tensor : of.facts.tensors) of.spans.push_back(prove::span_of(tensor));
    if (auto failure = prove::leaves_storage(registration.data(), registration.index(), layer, of))
      return failure;
    return prove::settle(registration.data(), registration.index(), layer, of);
  }
};

Settled dense(std::int64_t nbytes, std::int64_t storage_offset = 0) {
  return Settled(contiguous("int8", {4, 1024}, storage_offset), spec("FullAttentionSpec", 16, 1024),
                 nbytes);
}

bool names(const Failure& failure, std::initializer_list<const char*> words) {
  for (const char* word : words)
    if (failure.message.find(word) == std::string::npos) return false;
  return true;
}

std::optional<Failure> placed(const Tensor& tensor) {
  RegistrationData data;
  data.storages.push_back({"s0", 4096, "cpu"});
  data.caches.push_back({"a", {tensor}, false});
  const Registration registration(data);
  return prove::placed_at_all(registration.data(), registration.index(), 0);
}

}  // namespace

TEST_CASE("settle: a tensor lies in its storage to the last byte") {
  CHECK_FALSE(dense(4096).run());
  CHECK_FALSE(dense(4096 + 100, 100).run());
  const auto shorter = dense(4095).run();
  REQUIRE(shorter);
  CHECK(shorter->code == Code::bad_geometry);
  CHECK(names(*shorter, {"4096", "4095", "s0"}));
  const auto moved = dense(4096, 1).run();
  REQUIRE(moved);
  CHECK(moved->code == Code::bad_geometry);
}

TEST_CASE("settle: what the last block owns lies in the storage, padding included") {
  const auto padded = [](std::int64_t nbytes) {
    return Settled(tensor("int8", {4, 1000}, {1024, 1}), padded_attention(1024, 1000), nbytes)
        .run();
  };
  CHECK_FALSE(padded(4096));
  const auto cut = padded(3 * 1024 + 1000);
  REQUIRE(cut);
  CHECK(cut->code == Code::bad_geometry);
  CHECK(names(*cut, {"4096", "4072"}));
}

TEST_CASE("settle: block 0 starts where the placement puts it") {
  Settled settled = dense(8192, 2048);
  settled.data.placements.push_back({"s0", {"x", "a"}, 1024, 1024, 1024});
  CHECK_FALSE(settled.run());
  settled.data.placements[0].offset = 1025;
  const auto shifted = settled.run();
  REQUIRE(shifted);
  CHECK(shifted->code == Code::placement_mismatch);
  CHECK(names(*shifted, {"2048", "2049"}));
  settled.data.placements[0] = {"s1", {"a"}, 2048, 0, 1024};
  settled.data.storages.push_back({"s1", 8192, "cpu"});
  REQUIRE(settled.run());
  CHECK(settled.run()->code == Code::placement_mismatch);
  settled.data.placements[0] = {"s0", {"x", "a"}, INT64_MAX, INT64_MAX, 1024};
  REQUIRE(settled.run());
  CHECK(settled.run()->code == Code::placement_mismatch);
}

TEST_CASE("settle: a view starts at a multiple of its dtype") {
  ViewShape view;
  view.dtype = *find_dtype("float32");
  view.shape = {4, 256};
  view.stride = {256, 1};
  CHECK_FALSE(dense(8192, 4).run(&view));
  const auto odd = dense(8192, 2).run(&view);
  REQUIRE(odd);
  CHECK(odd->code == Code::misaligned);
  CHECK(names(*odd, {"2", "4", "float32"}));
}

TEST_CASE("settle: tensors at impossible places are refused before anything is computed") {
  CHECK_FALSE(placed(contiguous("int8", {4, 1024})));
  CHECK_FALSE(placed(contiguous("int8", {1, 1}, 4095)));
  for (const Tensor& wrong :
       {contiguous("int8", {1, 1}, -1), contiguous("int8", {1, 1}, 4097),
        contiguous("float64", {1, 1}, 1000), contiguous("float64", {1, 1}, INT64_MAX),
        contiguous("int8", {1, 1}, INT64_MIN), contiguous("int8", {1, 1}, 0, "nowhere")}) {
    const auto failure = placed(wrong);
    REQUIRE(failure);
    CHECK(failure->code == Code::bad_geometry);
  }
  Tensor nothing = contiguous("int8", {1, 1});
  nothing.dtype.itemsize = 0;
  REQUIRE(placed(nothing));
  CHECK(placed(nothing)->code == Code::bad_geometry);
}
