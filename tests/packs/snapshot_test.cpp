#include "abi/snapshot.hpp"

#include <catch2/catch.hpp>
#include <cstdint>
#include <limits>

#include "open.hpp"
#include "pack_tests.hpp"

namespace kvedit::test {

TEST_CASE("a pack is shown the facts of the layer") {
  RowLayer layer;
  const DType float32{"float32", 2, 32, 1, 4};
  layer.tensors.push_back({float32, {4, 16}, {32, 1}, 9, "s0"});
  layer.facts.tensors = layer.tensors;
  layer.facts.purpose = Purpose::transfer;
  layer.facts.slots = 3;
  const auto integers = [](std::int64_t a, std::int64_t b) {
    return Value::of(std::vector<Value>{Value::of(a), Value::of(b)});
  };
  layer.spec.attributes = std::vector<Attribute>{
      {"block_size", Value::of(std::int64_t{16})},
      {"shapes", Value::of(std::vector<Value>{integers(1, 2), integers(3, 4)})}};
  const Expected<OpenedPacks> opened = open_packs(only_files({fixture("echo")}));
  REQUIRE(opened);
  const Answer answer = opened->book.rules.at(0)->answer(layer.facts);
  CHECK(answer.verdict == Verdict::refuse);
  const std::vector<Fact> expected = {
      {"type", "MambaSpec"},
      {"base", "KVCacheSpec"},
      {"layout", "LBHNC"},
      {"role", "draft"},
      {"kind", std::int64_t{KVEDIT_KIND_MAMBA}},
      {"flags", std::int64_t{KVEDIT_GROUP_TRANSFERRED | KVEDIT_GROUP_HOST_RESIDENT}},
      {"purpose", std::int64_t{KVEDIT_PURPOSE_TRANSFER}},
      {"num_blocks", std::int64_t{4}},
      {"block_size", std::int64_t{16}},
      {"page_bytes", std::int64_t{128}},
      {"absent", std::int64_t{1}},
      {"state_bytes", std::int64_t{96}},
      {"slots", std::int64_t{3}},
      {"dtype", "float32"},
      {"place", std::int64_t{36 * 1000 + 128 + 1}},  // offset, stride, shares the storage
      {"inner", std::int64_t{4}},
  };
  CHECK(answer.facts == expected);
}

TEST_CASE("a placement is seen as its block stride, also one that goes nowhere") {
  const RowLayer layer;
  CHECK(snapshot(layer.facts).placed_block_stride == KVEDIT_ABSENT);
  for (const std::int64_t stride : {std::int64_t{0}, std::int64_t{128}}) {
    LayerFacts placed = layer.facts;
    placed.prepared = nullptr;
    placed.placed_stride = stride;
    CHECK(snapshot(placed).placed_block_stride == stride);
  }
}

TEST_CASE("a tensor of another storage has no offset") {
  RowLayer layer;
  layer.tensors.push_back(layer.tensors[0]);
  layer.tensors[1].storage = "s1";
  layer.tensors[1].storage_offset = 1000;
  layer.facts.tensors = layer.tensors;
  const kvedit_layer& seen = snapshot(layer.facts);
  REQUIRE(seen.tensor_count == 2);
  CHECK(seen.tensors[1].offset == 0);
  CHECK(seen.tensors[1].shares_storage == 0);
  CHECK(seen.tensors[0].shares_storage == 1);
}

TEST_CASE("the snapshot is made once") {
  const RowLayer layer;
  CHECK(&snapshot(layer.facts) == &snapshot(layer.facts));
  const LayerFacts copy = layer.facts;
  CHECK(&snapshot(copy) == &snapshot(layer.facts));
}

TEST_CASE("numbers beyond 64 bits stop at the end of the range, missing strides are 0") {
  using Limits = std::numeric_limits<std::int64_t>;
  RowLayer layer;
  layer.tensors[0].stride = {Limits::min()};
  layer.tensors.push_back(layer.tensors[0]);
  layer.tensors[0].storage_offset = Limits::min();
  layer.tensors[1].storage_offset = Limits::max();
  layer.facts.tensors = layer.tensors;
  const kvedit_layer& seen = snapshot(layer.facts);
  CHECK(seen.tensors[0].rank == 2);
  CHECK(seen.tensors[0].strides[0] == Limits::min());
  CHECK(seen.tensors[0].strides[1] == 0);
  CHECK(seen.tensors[1].offset == Limits::max());
}

TEST_CASE("an empty layer can be shown") {
  const Spec spec;
  LayerFacts facts;
  facts.spec = &spec;
  const kvedit_layer& seen = snapshot(facts);
  CHECK(seen.tensor_count == 0);
  CHECK(seen.attribute_count == 0);
  CHECK(seen.role.size == 0);
  CHECK(seen.group_flags == KVEDIT_GROUP_TRANSFERRED);
}

}  // namespace kvedit::test
