#include <catch2/catch.hpp>
#include <kvedit/rule.hpp>
#include <limits>

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
  CHECK(Layer(made.get()).entries_per_block(0).count() == 2);
  CHECK_FALSE(Layer(made.get()).entries_per_block(2));
  made.raw().num_blocks = 0;
  CHECK_FALSE(Layer(made.get()).entries_per_block(0));
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
