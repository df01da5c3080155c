#include <catch2/catch.hpp>
#include <kvedit/rule.hpp>
#include <limits>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "hand_made.hpp"

using namespace kvedit::rule;
using sdk_test::HandMade;

TEST_CASE("bytes, spans and order in memory of a permuted tensor") {
  HandMade made(KVEDIT_KIND_FULL_ATTENTION, 4, 1 << 20);
  made.tensor(2, {6, 2, 8, 4}, {64, 4, 8, 1});  // [NB, H, kbs, C], tokens before heads in memory
  const Layer layer(made.get());
  const Tensor tensor = layer.tensor(0);
  CHECK(tensor.rank() == 4);
  CHECK(tensor.stride(2) == 16);
  CHECK(tensor.entry_bytes(0) == 128);
  CHECK(tensor.entry_bytes(1) == 384);
  CHECK(tensor.entry_span(0) == 128);
  CHECK(tensor.entry_span(1) == 2 * (5 * 64 + 7 * 8 + 3) + 2);
  CHECK(tensor.outermost(0));
  CHECK(tensor.memory_position(2) == 1);
  CHECK(tensor.memory_position(1) == 2);
  CHECK(tensor.memory_position(3) == 3);
  CHECK(tensor.dense());
  CHECK_FALSE(tensor.contiguous());
  CHECK_THROWS_WITH(tensor.extent(4), "axis 4 of a tensor of rank 4");
}

TEST_CASE("axes of extent 1 are innermost, whatever their stride") {
  HandMade made(KVEDIT_KIND_MAMBA, 4, 64);
  made.tensor(1, {4, 1, 1, 16}, {32, 9999, 16, 1}).tensor(1, {4, 1, 16}, {16, 0, 1});
  const Layer layer(made.get());
  const Tensor tensor = layer.tensor(0);
  CHECK(tensor.outermost(0));
  CHECK(tensor.memory_position(3) == 1);
  CHECK(tensor.memory_position(1) == 2);
  CHECK(tensor.memory_position(2) == 3);
  CHECK_FALSE(tensor.dense());  // 16 of 32 bytes
  CHECK(layer.tensor(1).contiguous());
  CHECK(layer.tensor(1).dense());
}

TEST_CASE("numbers that overflow end at the largest there is") {
  const std::int64_t huge = std::numeric_limits<std::int64_t>::max();
  HandMade made(KVEDIT_KIND_FULL_ATTENTION, 4, 64);
  made.tensor(1, {4, huge, huge}, {huge, huge, huge});
  const Layer layer(made.get());
  CHECK(layer.tensor(0).entry_bytes(0) == huge);
  CHECK(layer.tensor(0).entry_span(0) == huge);
  CHECK_FALSE(layer.entries_per_block(0));
  CHECK_FALSE(layer.whole_page());
}

TEST_CASE("how many entries make a block comes from the bytes") {
  HandMade made(KVEDIT_KIND_FULL_ATTENTION, 10, 512);
  made.tensor(2, {40, 64}, {64, 1});
  CHECK(Layer(made.get()).entries_per_block(0).count() == 4);
  made.raw().num_blocks = 11;
  CHECK(Layer(made.get()).entries_per_block(0).why().view() ==
        "axis 0 has 40 entries, 11 blocks of 4 need 44");
  made.raw().num_blocks = 10;
  made.raw().page_bytes = 520;
  CHECK(Layer(made.get()).entries_per_block(0).why().view() ==
        "one entry of axis 0 has 128 bytes, the page of 520 bytes is no multiple");
  made.unpadded(256);
  CHECK(Layer(made.get()).entries_per_block(0).why().view() ==
        "axis 0 has 40 entries, 10 blocks of 2 need 20");
  made.raw().num_blocks = 20;
  CHECK(Layer(made.get()).entries_per_block(0).count() == 2);
  CHECK_FALSE(Layer(made.get()).entries_per_block(2));
  made.raw().num_blocks = 0;
  CHECK_FALSE(Layer(made.get()).entries_per_block(0));
}

TEST_CASE("with a placement its block stride says how many entries make a block") {
  const auto why = [](const HandMade& made, std::size_t axis = 0) {
    return std::string(Layer(made.get()).entries_per_block(axis).why().view());
  };
  // 10 blocks of 4 kernel pages of 120 bytes and 8 of scales, which no axis shows.
  HandMade scales(KVEDIT_KIND_FULL_ATTENTION, 10, 512);
  scales.tensor(2, {40, 60}, {64, 1}).with("page_size_padded", 512).unpadded(512);
  CHECK(why(scales) == "one entry of axis 0 has 120 bytes, the page of 512 bytes is no multiple");
  scales.placed(512);
  CHECK(Layer(scales.get()).entries_per_block(0).count() == 4);
  scales.placed(500);
  CHECK(why(scales) == "blocks are placed 500 bytes apart, axis 0 of tensor 0 steps 128");
  scales.placed(0);
  CHECK(why(scales) == "blocks are placed 0 bytes apart, axis 0 of tensor 0 steps 128");
  scales.placed(256);
  CHECK(why(scales) == "axis 0 has 40 entries, 10 blocks of 2 need 20");
  scales.placed(640);
  CHECK(why(scales) ==
        "as placed, 5 entries of axis 0 make a block; their 600 bytes are no page of 512");
  // Where padding has no size numbers decide, which a tail makes no multiple.
  HandMade tail(KVEDIT_KIND_FULL_ATTENTION, 10, 512);
  tail.tensor(2, {41, 60}, {64, 1}).with("page_size_padded", 512);
  CHECK(why(tail) == "41 entries are no multiple of 10 blocks");
  tail.placed(512);
  CHECK(Layer(tail.get()).entries_per_block(0).count() == 4);
  // No padding declared: so many bytes must be the page.
  HandMade bare(KVEDIT_KIND_FULL_ATTENTION, 10, 512);
  bare.tensor(2, {40, 60}, {64, 1}).placed(512);
  CHECK(why(bare) ==
        "as placed, 4 entries of axis 0 make a block; their 480 bytes are no page of 512");
  HandMade pair(KVEDIT_KIND_FULL_ATTENTION, 10, 512);
  pair.tensor(2, {20, 64}, {64, 1}).tensor(2, {20, 64}, {64, 1}, 0, false).placed(256);
  CHECK(Layer(pair.get()).entries_per_block(0).count() == 2);
  HandMade uneven(KVEDIT_KIND_FULL_ATTENTION, 10, 512);
  uneven.tensor(2, {20, 64}, {64, 1}).tensor(2, {20, 64}, {128, 1}, 0, false).placed(256);
  CHECK(why(uneven) == "blocks are placed 256 bytes apart, axis 0 of tensor 1 steps 256");
  HandMade states(KVEDIT_KIND_MAMBA, 10, 512);
  states.states(400).tensor(1, {10, 400}, {512, 1}).placed(512);
  CHECK(Layer(states.get()).entries_per_block(0).count() == 1);
  states.states(401);
  CHECK_FALSE(Layer(states.get()).entries_per_block(0));
  // The stride of a lone entry says nothing.
  HandMade lone(KVEDIT_KIND_FULL_ATTENTION, 1, 128);
  lone.tensor(2, {1, 64}, {7, 1}).placed(512);
  CHECK(Layer(lone.get()).entries_per_block(0).count() == 1);
}

TEST_CASE("a placement tells two axes apart that both make blocks") {
  // 4 heads or 8 kernel pages, 2 blocks: nothing else could tell.
  HandMade made(KVEDIT_KIND_FULL_ATTENTION, 2, 4096);
  made.tensor(1, {8, 4, 16, 16}, {256, 2048, 16, 1});
  CHECK(Layer(made.get()).block_axis() == std::nullopt);
  CHECK(Layer(made.placed(1024).get()).block_axis() == 0U);
  CHECK(Layer(made.placed(4096).get()).block_axis() == 1U);
  CHECK(Layer(made.placed(3000).get()).block_axis() == std::nullopt);
  CHECK(Layer(made.placed(-1).get()).block_axis() == std::nullopt);
  CHECK(Layer(made.placed(detail::most).get()).block_axis() == std::nullopt);
}

TEST_CASE("a tail is shorter than a block, and every tensor has the entries") {
  HandMade tail(KVEDIT_KIND_FULL_ATTENTION, 10, 512);
  tail.tensor(2, {43, 64}, {64, 1});
  CHECK(Layer(tail.get()).entries_per_block(0).count() == 4);
  HandMade block_more(KVEDIT_KIND_FULL_ATTENTION, 10, 512);
  block_more.tensor(2, {44, 64}, {64, 1});
  CHECK(Layer(block_more.get()).entries_per_block(0).why().view() ==
        "axis 0 has 44 entries, 10 blocks of 4 need 40");
  HandMade uneven(KVEDIT_KIND_FULL_ATTENTION, 10, 512);
  uneven.tensor(2, {20, 64}, {64, 1}).tensor(2, {19, 64}, {64, 1}, 0, false);
  CHECK(Layer(uneven.get()).entries_per_block(0).why().view() ==
        "axis 0 has 19 entries, 10 blocks of 2 need 20");
  HandMade padded(KVEDIT_KIND_FULL_ATTENTION, 10, 500);
  padded.tensor(2, {31, 64}, {64, 1}).with("page_size_padded", 500);
  CHECK(Layer(padded.get()).entries_per_block(0).why().view() ==
        "31 entries are no multiple of 10 blocks");
}

TEST_CASE("the block axis is the outermost in memory whose entries make blocks") {
  const auto axis_of = [](HandMade& made) { return Layer(made.get()).block_axis(); };
  // 10 blocks of two kernel pages of 8 tokens, 3 heads, 4 bytes of content.
  const auto pages = [](std::vector<std::int64_t> extents, std::vector<std::int64_t> strides) {
    auto made = std::make_unique<HandMade>(KVEDIT_KIND_FULL_ATTENTION, 10, 192);
    made->tensor(1, std::move(extents), std::move(strides));
    return made;
  };
  CHECK(axis_of(*pages({20, 3, 8, 4}, {96, 32, 4, 1})) == 0U);
  CHECK(axis_of(*pages({20, 3, 8, 4}, {32, 640, 4, 1})) == 0U);
  CHECK(axis_of(*pages({3, 20, 8, 4}, {640, 32, 4, 1})) == 1U);
  CHECK(axis_of(*pages({3, 20, 8, 4}, {32, 96, 4, 1})) == 1U);
  CHECK_FALSE(axis_of(*pages({3, 22, 8, 4}, {704, 32, 4, 1})));
  // Further in, 20 entries make blocks too, but blocks come first.
  CHECK(axis_of(*pages({3, 20, 20, 4}, {1600, 80, 4, 1})) == std::nullopt);  // other page
  HandMade twice(KVEDIT_KIND_FULL_ATTENTION, 10, 480);
  twice.tensor(1, {3, 20, 20, 4}, {1600, 80, 4, 1});
  CHECK(axis_of(twice) == 1U);
  HandMade either(KVEDIT_KIND_FULL_ATTENTION, 10, 160);
  either.tensor(1, {20, 20, 4}, {80, 4, 1});
  CHECK(axis_of(either) == 0U);  // shape and memory agree
  HandMade turned(KVEDIT_KIND_FULL_ATTENTION, 10, 160);
  turned.tensor(1, {20, 20, 4}, {4, 80, 1});
  CHECK(axis_of(turned) == std::nullopt);
  HandMade vector(KVEDIT_KIND_FULL_ATTENTION, 10, 2);
  vector.tensor(1, {20}, {1});
  CHECK(axis_of(vector) == 0U);
  HandMade lone(KVEDIT_KIND_FULL_ATTENTION, 1, 96);
  lone.tensor(1, {3, 1, 8, 4}, {32, 32, 4, 1});
  CHECK(axis_of(lone) == 1U);
  HandMade two_of_one(KVEDIT_KIND_FULL_ATTENTION, 1, 96);
  two_of_one.tensor(1, {1, 3, 1, 32}, {96, 32, 32, 1});
  CHECK(axis_of(two_of_one) == 0U);
  HandMade none(KVEDIT_KIND_FULL_ATTENTION, 1, 96);
  CHECK(axis_of(none) == std::nullopt);
}

TEST_CASE("axes beside the block axis are named in their order") {
  HandMade made(KVEDIT_KIND_FULL_ATTENTION, 10, 192);
  made.tensor(1, {3, 20, 8, 4}, {640, 32, 4, 1});
  const Layer layer(made.get());
  const Tensor tensor = layer.tensor(0);
  for (std::size_t depth = 0; depth < 4; ++depth) CHECK(tensor.axis_at(depth) == depth);
  const Box box = tensor.axes_beside(1, Role::head, Role::token, Role::content);
  REQUIRE(box);
  CHECK(box.axis(0).role == Role::head);
  CHECK(box.axis(1).role == Role::block);
  CHECK(box.axis(1).extent == 20);
  CHECK(box.axis(2).role == Role::token);
  CHECK(box.axis(3).role == Role::content);
  CHECK(tensor.axes_beside(3, Role::head, Role::token, Role::kv).find(Role::block) == 3);
  CHECK(tensor.axes_beside(1, Role::token, Role::content).why().view() ==
        "3 axes named of a tensor of rank 4; a box has at most 8");
  CHECK_FALSE(tensor.axes_beside(3, Role::content));
  CHECK_THROWS_AS(tensor.axes_beside(4, Role::head, Role::token, Role::content), Fault);
}

TEST_CASE("both tensors of a pair count") {
  HandMade made(KVEDIT_KIND_FULL_ATTENTION, 10, 512);
  made.tensor(2, {20, 64}, {64, 1}).tensor(2, {20, 64}, {64, 1}, 0, false);
  CHECK(Layer(made.get()).entries_per_block(0).count() == 2);
}

TEST_CASE("declared padding without its size, and recurrent layers, go by the numbers") {
  HandMade padded(KVEDIT_KIND_FULL_ATTENTION, 10, 500);
  padded.tensor(2, {30, 64}, {64, 1}).with("page_size_padded", 500);
  CHECK(Layer(padded.get()).entries_per_block(0).count() == 3);
  padded.raw().page_bytes = 300;
  CHECK(Layer(padded.get()).entries_per_block(0).why().view() ==
        "30 entries for 10 blocks: 3 of 128 bytes leave the page of 300 bytes");
  HandMade row(KVEDIT_KIND_MAMBA, 10, 500);
  row.tensor(1, {10, 300}, {500, 1});
  CHECK(Layer(row.get()).entries_per_block(0).count() == 1);
}
