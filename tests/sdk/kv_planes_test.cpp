// kvedit.kv-planes: which axis carries the blocks comes from bytes and memory order, never from an
// axis of two.
#include <catch2/catch.hpp>

#include "said.hpp"

using namespace sdk_test;

namespace {

const char* const two_of_axis_1 = "2 entries of axis 1 make a page of 524288 bytes";

/// 36 blocks of 128 tokens, 8 heads of 128, bfloat16, in two kernel pages of 64 tokens.
struct Llama : HandMade {
  explicit Llama(std::uint32_t kind = KVEDIT_KIND_FULL_ATTENTION) : HandMade(kind, 36, 524288) {
    tokens(128, 128).with("num_kv_heads", 8);
  }
};

Said ask_planes(const HandMade& layer) { return ask(standard_pack("kv-planes"), layer); }

}  // namespace

TEST_CASE("kv-planes: rank 5, as registered and permuted") {
  Llama plain, permuted, registered;
  plain.tensor(2, {2, 72, 64, 8, 128}, {4718592, 65536, 1024, 128, 1});
  permuted.tensor(2, {2, 72, 64, 8, 128}, {4718592, 65536, 128, 8192, 1});
  registered.tensor(2, {2, 72, 8, 64, 128}, {4718592, 65536, 8192, 128, 1});
  const Said said = ask_planes(plain);
  CHECK(said.verdict == KVEDIT_ANSWER_MATCH);
  CHECK(said.reason == two_of_axis_1);
  CHECK_FALSE(said.declared);
  CHECK(said.more.empty());
  CHECK(said.axes == Axes{{2, 9437184, kv},
                          {72, 131072, block},
                          {64, 2048, token},
                          {8, 256, head},
                          {128, 2, content}});
  CHECK(ask_planes(permuted).axes == Axes{{2, 9437184, kv},
                                          {72, 131072, block},
                                          {64, 256, token},
                                          {8, 16384, head},
                                          {128, 2, content}});
  CHECK(ask_planes(registered).axes == Axes{{2, 9437184, kv},
                                            {72, 131072, block},
                                            {8, 16384, head},
                                            {64, 256, token},
                                            {128, 2, content}});
}

TEST_CASE("kv-planes: re-strided so that K and V of a kernel page follow each other") {
  Llama restrided;
  restrided.tensor(2, {2, 72, 64, 8, 128}, {65536, 131072, 1024, 128, 1});
  const Said said = ask_planes(restrided);
  CHECK(said.reason == two_of_axis_1);
  CHECK(said.axes == Axes{{2, 131072, kv},
                          {72, 262144, block},
                          {64, 2048, token},
                          {8, 256, head},
                          {128, 2, content}});
}

TEST_CASE("kv-planes: planes outside in memory though blocks come first in the shape") {
  Llama inside;
  inside.tensor(2, {72, 2, 64, 8, 128}, {65536, 4718592, 1024, 128, 1});
  CHECK(ask_planes(inside).axes == Axes{{72, 131072, block},
                                        {2, 9437184, kv},
                                        {64, 2048, token},
                                        {8, 256, head},
                                        {128, 2, content}});
}

TEST_CASE("kv-planes: rank 4 with heads outside, in the shape or in memory alone") {
  Llama shape, memory;
  shape.tensor(2, {8, 72, 64, 256}, {1179648, 16384, 256, 1});
  memory.tensor(2, {72, 8, 64, 256}, {16384, 1179648, 256, 1});
  CHECK(ask_planes(shape).axes ==
        Axes{{8, 2359296, head}, {72, 32768, block}, {64, 512, token}, {256, 2, content}});
  CHECK(ask_planes(memory).axes ==
        Axes{{72, 32768, block}, {8, 2359296, head}, {64, 512, token}, {256, 2, content}});
}

TEST_CASE("kv-planes: flat planes, and a tensor for each plane") {
  Llama flat, pair;
  flat.tensor(2, {2, 72, 65536}, {4718592, 65536, 1});
  CHECK(ask_planes(flat).axes == Axes{{2, 9437184, kv}, {72, 131072, block}, {65536, 2, content}});
  pair.tensor(2, {72, 64, 8, 128}, {65536, 1024, 128, 1});
  pair.tensor(2, {72, 8, 64, 128}, {65536, 8192, 128, 1}, 0, false);
  const Said said = ask_planes(pair);
  CHECK(said.reason == "2 entries of axis 0 make a page of 524288 bytes");
  CHECK(said.axes ==
        Axes{{72, 131072, block}, {64, 2048, token}, {8, 256, head}, {128, 2, content}});
  REQUIRE(said.more.size() == 1);
  CHECK(said.more[0] ==
        Axes{{72, 131072, block}, {8, 16384, head}, {64, 256, token}, {128, 2, content}});
}

TEST_CASE("kv-planes: latent and positional parts in two tensors") {
  for (const std::uint32_t kind : {KVEDIT_KIND_MLA_ATTENTION, KVEDIT_KIND_SLIDING_WINDOW_MLA}) {
    HandMade parts(kind, 10, 128 * 576 * 2);
    parts.tokens(128, 128);
    parts.tensor(2, {20, 64, 512}, {32768, 512, 1})
        .tensor(2, {20, 64, 64}, {4096, 64, 1}, 0, false);
    const Said said = ask_planes(parts);
    CHECK(said.axes == Axes{{20, 65536, block}, {64, 1024, token}, {512, 2, content}});
    REQUIRE(said.more.size() == 1);
    CHECK(said.more[0] == Axes{{20, 8192, block}, {64, 128, token}, {64, 2, content}});
  }
}

TEST_CASE("kv-planes: what is not its own says which numbers are in the way") {
  Llama whole, outermost, short_pool, rank6, either;
  whole.tensor(2, {2, 36, 128, 8, 128}, {4718592, 131072, 1024, 128, 1});
  check_no_match(ask_planes(whole), "one entry of axis 1 is one page already");
  outermost.tensor(2, {72, 2, 64, 8, 128}, {131072, 65536, 1024, 128, 1});
  check_no_match(ask_planes(outermost), "axis 0 carries the blocks and nothing lies outside it");
  const char* const none = "neither of axes 0 and 1, or both, have entries that make blocks";
  short_pool.tensor(2, {2, 71, 64, 8, 128}, {4653056, 65536, 1024, 128, 1});
  check_no_match(ask_planes(short_pool), none);
  rank6.tensor(2, {2, 72, 64, 8, 2, 64}, {4718592, 65536, 1024, 128, 64, 1});
  check_no_match(ask_planes(rank6), "3 axes named of a tensor of rank 6; a box has at most 8");
  check_no_match(ask_planes(HandMade(KVEDIT_KIND_FULL_ATTENTION, 36, 524288)), none);
  // 32 blocks are counted along the content of a page whose padding has no size.
  HandMade content_axis(KVEDIT_KIND_SLIDING_WINDOW, 32, 59136);
  content_axis.tokens(4, 4).with("page_size_padded", 59136);
  content_axis.tensor(2, {31, 2, 4, 128}, {29568, 512, 128, 1});
  check_no_match(ask_planes(content_axis), none);
  // 4 heads or 8 kernel pages: two blocks either way, and only a placement could tell.
  HandMade two(KVEDIT_KIND_FULL_ATTENTION, 2, 4096);
  two.tensor(1, {8, 4, 16, 16}, {256, 2048, 16, 1});
  check_no_match(ask_planes(two), none);
}

TEST_CASE("kv-planes: a placement tells which of two axes carries the blocks") {
  HandMade two(KVEDIT_KIND_FULL_ATTENTION, 2, 4096);
  two.tokens(64, 64).with("num_kv_heads", 4).tensor(1, {8, 4, 16, 16}, {256, 2048, 16, 1});
  CHECK(ask_planes(two.placed(1024)).axes ==
        Axes{{8, 256, block}, {4, 2048, head}, {16, 16, token}, {16, 1, content}});
  CHECK(ask_planes(two.placed(4096)).axes ==
        Axes{{8, 256, head}, {4, 2048, block}, {16, 16, token}, {16, 1, content}});
}

TEST_CASE("kv-planes: kinds it knows") {
  for (std::uint32_t kind = 0; kind < 12; ++kind) {
    Llama made(kind);
    made.tensor(2, {2, 72, 64, 8, 128}, {4718592, 65536, 1024, 128, 1});
    const bool known = kind == KVEDIT_KIND_FULL_ATTENTION || kind == KVEDIT_KIND_SLIDING_WINDOW ||
                       kind == KVEDIT_KIND_CHUNKED_LOCAL_ATTENTION ||
                       kind == KVEDIT_KIND_SINK_FULL_ATTENTION ||
                       kind == KVEDIT_KIND_MLA_ATTENTION || kind == KVEDIT_KIND_SLIDING_WINDOW_MLA;
    INFO(kind);
    CHECK((ask_planes(made).verdict == KVEDIT_ANSWER_MATCH) == known);
  }
}
