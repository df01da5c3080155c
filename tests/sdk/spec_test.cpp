#include <catch2/catch.hpp>
#include <cstddef>
#include <kvedit/rule.hpp>

#include "hand_made.hpp"

using namespace kvedit::rule;
using sdk_test::HandMade;

TEST_CASE("a class is known by its name and by its bases") {
  HandMade made(KVEDIT_KIND_SLIDING_WINDOW, 4, 64);
  made.named("KpoolTailSpec", {"SlidingWindowSpec", "KVCacheSpec"});
  const Layer layer(made.get());
  CHECK(layer.type() == "KpoolTailSpec");
  CHECK(layer.is_a("KpoolTailSpec"));
  CHECK(layer.is_a("KVCacheSpec"));
  CHECK_FALSE(layer.is_a("KVCache"));
  CHECK_FALSE(layer.is_a(""));
  CHECK(layer.is(Kind::mamba, Kind::sliding_window));
  CHECK_FALSE(layer.is(Kind::mamba, Kind::unknown));
  CHECK(layer.base(1) == "KVCacheSpec");
  CHECK(layer.base(2).empty());
}

TEST_CASE("fields of the spec read by type, absent ones by their default") {
  HandMade made(KVEDIT_KIND_FULL_ATTENTION, 4, 64);
  kvedit_value items[2] = {};
  items[0].kind = items[1].kind = KVEDIT_VALUE_INTEGER;
  items[0].integer = 3;
  items[1].integer = 6144;
  kvedit_value list{}, yes{}, real{}, json{}, null{};
  list.kind = KVEDIT_VALUE_LIST;
  list.items = items;
  list.item_count = 2;
  yes.kind = KVEDIT_VALUE_BOOLEAN;
  yes.integer = 1;
  real.kind = KVEDIT_VALUE_REAL;
  real.real = 0.5;
  json.kind = KVEDIT_VALUE_JSON;
  json.text = made.keep(R"({"multiple_of": 16})");
  made.with("head_size", 128).with("dtype", "bfloat16").with("shapes", list);
  made.with("dcp_sharded", yes).with("scale", real).with("block_stride_alignment", json);
  made.with("num_heads", null).with("num_kv_heads", 4);
  const Layer layer(made.get());

  CHECK(layer.head_size() == 128);
  CHECK(layer.head_size_v() == 128);
  CHECK(layer.dtype() == "bfloat16");
  CHECK(layer.heads() == 4);
  CHECK(layer.num_heads(9) == 9);
  CHECK(layer.sliding_window() == 0);
  CHECK(layer.mamba_cache_mode() == "none");
  CHECK(layer.prefix_cacheable());
  CHECK(layer.dcp_sharded());
  CHECK(layer.shapes().size() == 2);
  CHECK(layer.shapes()[1].as_int() == 6144);
  CHECK(layer.shapes()[2].is_null());
  CHECK(layer.attribute("scale").as_real() == 0.5);
  CHECK(layer.attribute("scale").as_int(-1) == -1);
  CHECK(layer.attribute("head_size").as_real() == 128.0);
  CHECK(layer.attribute("head_size").as_text("no") == "no");
  CHECK(layer.block_stride_alignment().as_json() == R"({"multiple_of": 16})");
  CHECK(layer.block_stride_alignment().as_int(7) == 7);
  CHECK_FALSE(layer.has("num_heads"));
  CHECK_FALSE(layer.has("nothing"));
  CHECK_FALSE(layer.unpadded_page_bytes().has_value());
  CHECK(layer.dense_page_bytes() == 64);
  CHECK_THROWS_AS(layer.required_int("dtype"), MissingField);
  CHECK(layer.required_text("dtype") == "bfloat16");
}

TEST_CASE("several tokens in a state are declared compression, several states are not") {
  const auto declares = [](const char* name, const char* text, std::int64_t number,
                           std::int64_t slots) {
    HandMade made(KVEDIT_KIND_FULL_ATTENTION, 4, 64);
    made.tokens(16, slots);
    if (text != nullptr)
      made.with(name, text);
    else
      made.with(name, number);
    return Layer(made.get()).declares_compression();
  };
  CHECK_FALSE(declares("other", nullptr, 4, 16));
  CHECK_FALSE(declares("tokens_per_state", nullptr, 1, 16));
  CHECK(declares("tokens_per_state", nullptr, 4, 4));
  CHECK(declares("compress_ratio", nullptr, 2, 8));
  CHECK(declares("compress_ratio", nullptr, 2, 16));
  CHECK_FALSE(declares("tokens_per_state", "1/4", 0, 64));
  CHECK(declares("tokens_per_state", "4/1", 0, 16));
  CHECK(declares("num_states", nullptr, 4, 4));
  CHECK_FALSE(declares("tq_slot_size", nullptr, 136, 16));
}

TEST_CASE("a layer of an older host has defaults where its struct ends") {
  HandMade made(KVEDIT_KIND_FULL_ATTENTION, 4, 64);
  made.with("head_size", 128).states(5).tensor(2, {4, 32}, {32, 1});
  made.raw().struct_size = offsetof(kvedit_layer, unpadded_page_bytes);
  const Layer layer(made.get());
  CHECK(layer.page_bytes() == 64);
  CHECK_FALSE(layer.unpadded_page_bytes().has_value());
  CHECK_FALSE(layer.state_bytes().has_value());
  CHECK(layer.slots() == 1);
  CHECK(layer.head_size() == 0);
  CHECK(layer.tensors() == 0);
  CHECK_THROWS_WITH(layer.tensor(0), "tensor 0 of a layer with 0");

  made.raw().struct_size = offsetof(kvedit_layer, tensor_stride);
  CHECK(Layer(made.get()).tensors() == 0);
}

TEST_CASE("the placement's block stride is there from minor 1 of the boundary") {
  HandMade made(KVEDIT_KIND_FULL_ATTENTION, 4, 64);
  made.tensor(2, {8, 16}, {16, 1});
  CHECK_FALSE(Layer(made.get()).placed_block_stride().has_value());
  made.placed(64);
  CHECK(Layer(made.get()).placed_block_stride() == 64);
  CHECK(Layer(made.get(), sizeof(kvedit_layer)).placed_block_stride() == 64);
  // As a host of minor 0 gives it, alone or one of several.
  constexpr std::uint64_t released = 176;
  CHECK_FALSE(Layer(made.get(), released).placed_block_stride().has_value());
  made.raw().struct_size = released;
  const Layer old(made.get());
  CHECK_FALSE(old.placed_block_stride().has_value());
  CHECK(old.tensors() == 1);
  CHECK(old.entries_per_block(0).count() == 2);
}

TEST_CASE("layers and tensors of a newer host are read by its strides") {
  struct NewTensor {
    kvedit_tensor known;
    std::uint64_t more[3];
  };
  struct NewLayer {
    kvedit_layer known;
    std::uint64_t more[5];
  };
  HandMade made(KVEDIT_KIND_MAMBA, 4, 64);
  made.tensor(2, {4, 8}, {32, 1}).tensor(4, {4, 4}, {16, 1}, 16);
  NewTensor tensors[2] = {{made.raw_tensor(0), {1, 2, 3}}, {made.raw_tensor(1), {4, 5, 6}}};
  for (NewTensor& each : tensors) each.known.struct_size = sizeof each;
  NewLayer leaves[2] = {{*made.get(), {}}, {*made.get(), {}}};
  for (NewLayer& each : leaves) {
    each.known.struct_size = sizeof each;
    each.known.tensors = &tensors[0].known;
    each.known.tensor_stride = sizeof(NewTensor);
  }
  leaves[1].known.page_bytes = 128;
  const Layer layer(&leaves[0].known);
  CHECK(layer.tensors() == 2);
  CHECK(layer.tensor(1).item_bytes() == 4);
  CHECK(layer.tensor(1).stride(0) == 64);
  CHECK(layer.tensor(1).offset() == 16);

  const kvedit_group given = {sizeof(kvedit_group), &leaves[0].known, 2, sizeof(NewLayer), 7};
  const Group group(&given);
  CHECK(group.layers() == 7);
  CHECK(group.leaves() == 2);
  CHECK(group.leaf(1).page_bytes() == 128);
  CHECK_THROWS_WITH(group.leaf(2), "leaf 2 of a group with 2");
}
