// The standard rules and the example on layouts of real engines, through their shared objects.
#include <catch2/catch.hpp>
#include <string>
#include <vector>

#include "said.hpp"

using namespace sdk_test;

namespace {

const char* const seventeen = "17 kernel pages of 65536 bytes make the page of 1114112 bytes";

/// 64 blocks of 544 tokens, 2 heads, cut into 17 kernel pages of 32 tokens.
struct Qwen : HandMade {
  explicit Qwen(std::int64_t blocks = 64) : HandMade(KVEDIT_KIND_FULL_ATTENTION, blocks, 1114112) {
    tokens(544, 544).with("num_kv_heads", 2);
  }
};

}  // namespace

TEST_CASE("subpaged-attention: rank 4 packed, heads first and tokens first in memory") {
  Qwen heads_first, tokens_first, registered;
  heads_first.tensor(2, {1088, 2, 32, 512}, {32768, 16384, 512, 1});
  tokens_first.tensor(2, {1088, 2, 32, 512}, {32768, 512, 1024, 1});
  registered.tensor(2, {1088, 32, 2, 512}, {32768, 1024, 512, 1});
  const OpenedPack& rule = standard_pack("subpaged-attention");

  Said said = ask(rule, heads_first);
  CHECK(said.verdict == KVEDIT_ANSWER_MATCH);
  CHECK(said.reason == seventeen);
  CHECK_FALSE(said.declared);
  CHECK(said.item == 2);
  CHECK(said.axes ==
        Axes{{1088, 65536, block}, {2, 32768, head}, {32, 1024, token}, {512, 2, content}});
  said = ask(rule, tokens_first);
  CHECK(said.axes ==
        Axes{{1088, 65536, block}, {2, 1024, head}, {32, 2048, token}, {512, 2, content}});
  said = ask(rule, registered);
  CHECK(said.axes ==
        Axes{{1088, 65536, block}, {32, 2048, token}, {2, 1024, head}, {512, 2, content}});
}

TEST_CASE("subpaged-attention: rank 5 split, standard and permuted") {
  Qwen plain(40), permuted(40), registered(40);
  plain.tensor(2, {680, 2, 32, 2, 256}, {32768, 16384, 512, 256, 1});
  permuted.tensor(2, {680, 2, 32, 2, 256}, {32768, 16384, 256, 8192, 1});
  registered.tensor(2, {680, 2, 2, 32, 256}, {32768, 16384, 8192, 256, 1});
  const OpenedPack& rule = standard_pack("subpaged-attention");
  CHECK(ask(rule, plain).reason == seventeen);
  CHECK(ask(rule, plain).axes == Axes{{680, 65536, block},
                                      {2, 32768, kv},
                                      {32, 1024, token},
                                      {2, 512, head},
                                      {256, 2, content}});
  CHECK(ask(rule, permuted).axes == Axes{{680, 65536, block},
                                         {2, 32768, kv},
                                         {32, 512, token},
                                         {2, 16384, head},
                                         {256, 2, content}});
  CHECK(ask(rule, registered).axes == Axes{{680, 65536, block},
                                           {2, 32768, kv},
                                           {2, 16384, head},
                                           {32, 512, token},
                                           {256, 2, content}});
}

TEST_CASE("subpaged-attention: every kind it knows, and a kernel page with as many heads as rows") {
  const OpenedPack& rule = standard_pack("subpaged-attention");
  for (const std::uint32_t kind :
       {KVEDIT_KIND_FULL_ATTENTION, KVEDIT_KIND_SLIDING_WINDOW, KVEDIT_KIND_CHUNKED_LOCAL_ATTENTION,
        KVEDIT_KIND_SINK_FULL_ATTENTION}) {
    HandMade made(kind, 10, 2048);
    made.tokens(32, 32).with("num_kv_heads", 16).tensor(1, {20, 16, 16, 4}, {1024, 64, 4, 1});
    const Said said = ask(rule, made);
    CHECK(said.verdict == KVEDIT_ANSWER_MATCH);
    CHECK(said.axes.at(1).at(2) == head);
  }
  for (const std::uint32_t kind :
       {KVEDIT_KIND_UNKNOWN, KVEDIT_KIND_MLA_ATTENTION, KVEDIT_KIND_SLIDING_WINDOW_MLA,
        KVEDIT_KIND_MAMBA, KVEDIT_KIND_ENCODER_ONLY_ATTENTION, KVEDIT_KIND_CROSS_ATTENTION,
        1000U}) {
    HandMade made(kind, 10, 2048);
    made.tokens(32, 32).tensor(1, {20, 16, 16, 4}, {1024, 64, 4, 1});
    CHECK(ask(rule, made).verdict == KVEDIT_ANSWER_NO_MATCH);
  }
}

TEST_CASE("subpaged-attention: what is not its own says which numbers are in the way") {
  const OpenedPack& rule = standard_pack("subpaged-attention");
  Qwen whole(33);
  whole.tensor(2, {33, 17, 2, 32, 512}, {557056, 32768, 16384, 512, 1});
  check_no_match(ask(rule, whole), "one entry of 1114112 bytes is one page already");

  HandMade planes(KVEDIT_KIND_FULL_ATTENTION, 36, 524288);
  planes.tokens(128, 128).tensor(2, {2, 72, 64, 8, 128}, {4718592, 65536, 1024, 128, 1});
  check_no_match(ask(rule, planes),
                 "one entry of axis 0 has 9437184 bytes, the page of 524288 "
                 "bytes is no multiple");

  Qwen short_pool;
  short_pool.tensor(2, {1087, 2, 32, 512}, {32768, 16384, 512, 1});
  check_no_match(ask(rule, short_pool), "axis 0 has 1087 entries, 64 blocks of 17 need 1088");

  Qwen heads_outside;
  heads_outside.tensor(2, {1088, 2, 32, 512}, {16384, 17825792, 512, 1});
  check_no_match(ask(rule, heads_outside),
                 "axis 0 steps 32768 bytes and is not outermost in memory");

  Qwen three_planes;
  three_planes.tensor(2, {64 * 34, 1, 32, 2, 256}, {16384, 16384, 512, 256, 1});
  check_no_match(ask(rule, three_planes), "axis 1 has 1 entries, not K and V");

  Qwen rank2, pair;
  rank2.tensor(2, {1088, 32768}, {32768, 1});
  check_no_match(ask(rule, rank2), "rank 2, not 3 to 5");
  pair.tensor(2, {1088, 32, 2, 256}, {16384, 512, 256, 1});
  pair.tensor(2, {1088, 32, 2, 256}, {16384, 512, 256, 1}, 0, false);
  check_no_match(ask(rule, pair), "2 tensors, not one");
}

TEST_CASE("subpaged-attention: all heads of a token in a row, and declared compression") {
  const OpenedPack& rule = standard_pack("subpaged-attention");
  Qwen row, compressed;
  row.tensor(2, {1088, 32, 1024}, {32768, 1024, 1});
  CHECK(ask(rule, row).reason == seventeen);
  CHECK(ask(rule, row).axes == Axes{{1088, 65536, block}, {32, 2048, token}, {1024, 2, content}});
  // 544 states for 2176 tokens, 32 in each kernel page.
  compressed.tokens(2176, 544).with("tokens_per_state", 4);
  compressed.tensor(2, {1088, 32, 2, 512}, {32768, 1024, 512, 1});
  CHECK(ask(rule, compressed).axes ==
        Axes{{1088, 65536, block}, {32, 2048, token}, {2, 1024, head}, {512, 2, content}});
}

TEST_CASE("subpaged-attention: padding declared with its size is left out of k") {
  HandMade made(KVEDIT_KIND_FULL_ATTENTION, 10, 4096);
  made.tokens(32, 32).unpadded(2048).tensor(1, {20, 4, 16, 16}, {1024, 256, 16, 1});
  CHECK(ask(standard_pack("subpaged-attention"), made).reason ==
        "2 kernel pages of 1024 bytes make the page of 2048 bytes");
}

TEST_CASE("subpaged-mla: rank 3 and 4, with and without declared compression") {
  const OpenedPack& rule = standard_pack("subpaged-mla");
  HandMade kimi(KVEDIT_KIND_MLA_ATTENTION, 14, 884736),
      linear(KVEDIT_KIND_MLA_ATTENTION, 19, 1105920);
  kimi.tokens(768, 768).tensor(2, {168, 64, 576}, {36864, 576, 1});
  linear.tokens(960, 960).tensor(2, {285, 1, 64, 576}, {36864, 36864, 576, 1});
  Said said = ask(rule, kimi);
  CHECK(said.reason == "12 kernel pages of 73728 bytes make the page of 884736 bytes");
  CHECK(said.axes == Axes{{168, 73728, block}, {64, 1152, token}, {576, 2, content}});
  said = ask(rule, linear);
  CHECK(said.reason == "15 kernel pages of 73728 bytes make the page of 1105920 bytes");
  CHECK(said.axes ==
        Axes{{285, 73728, block}, {1, 73728, head}, {64, 1152, token}, {576, 2, content}});

  HandMade behind(KVEDIT_KIND_MLA_ATTENTION, 19, 1105920);
  behind.tokens(960, 960).tensor(2, {285, 64, 1, 576}, {36864, 576, 576, 1});
  CHECK(ask(rule, behind).axes ==
        Axes{{285, 73728, block}, {64, 1152, token}, {1, 1152, head}, {576, 2, content}});

  for (const std::uint32_t kind : {KVEDIT_KIND_MLA_ATTENTION, KVEDIT_KIND_SLIDING_WINDOW_MLA}) {
    HandMade indexer(kind, 31, 59136);
    indexer.tokens(1792, 448).with("tokens_per_state", 4).tensor(1, {217, 64, 132}, {8448, 132, 1});
    CHECK(ask(rule, indexer).reason == "7 kernel pages of 8448 bytes make the page of 59136 bytes");
  }
}

TEST_CASE("subpaged-mla: pages that are whole, several heads and other kinds are left alone") {
  const OpenedPack& rule = standard_pack("subpaged-mla");
  HandMade padded(KVEDIT_KIND_MLA_ATTENTION, 25, 37440);
  padded.tokens(256, 64).unpadded(37376).with("tokens_per_state", 4);
  padded.tensor(1, {25, 1, 64, 584}, {275328, 37376, 584, 1});
  check_no_match(ask(rule, padded), "one entry of 37376 bytes is one page already");
  HandMade heads(KVEDIT_KIND_MLA_ATTENTION, 19, 1105920);
  heads.tokens(960, 960).tensor(2, {285, 2, 32, 576}, {36864, 18432, 576, 1});
  check_no_match(ask(rule, heads),
                 "axis 1 has 2 entries and axis 2 32, neither is one latent head");
  Qwen dense;
  dense.tensor(2, {1088, 64, 512}, {32768, 512, 1});
  check_no_match(ask(rule, dense), "kind is full_attention, not a latent cache");
}

TEST_CASE("mamba-page: conv and ssm in one page, in either order") {
  const OpenedPack& rule = standard_pack("mamba-page");
  HandMade made(KVEDIT_KIND_MAMBA, 40, 1114112);
  made.states(1085440).tokens(544, 1);
  made.tensor(2, {40, 3, 6144}, {557056, 6144, 1});
  made.tensor(4, {40, 16, 128, 128}, {278528, 16384, 128, 1}, 36864);
  Said said = ask(rule, made);
  CHECK(said.verdict == KVEDIT_ANSWER_MATCH);
  CHECK(said.reason == "2 state tensors lie in one page of 1114112 bytes");
  CHECK(said.axes == Axes{{40, 1114112, block}, {1114112, 1, content}});
  CHECK(said.offset == 0);
  CHECK(said.item == 1);

  HandMade turned(KVEDIT_KIND_MAMBA, 40, 1114112);
  turned.tensor(4, {40, 16, 128, 128}, {278528, 16384, 128, 1});
  turned.tensor(2, {40, 3, 6144}, {557056, 6144, 1}, -36864);
  CHECK(ask(rule, turned).offset == -36864);
}

TEST_CASE("mamba-page: states that lie apart, and rows, are not its own") {
  const OpenedPack& rule = standard_pack("mamba-page");
  HandMade apart(KVEDIT_KIND_MAMBA, 11, 1085440);
  apart.tensor(2, {11, 3, 6144}, {18432, 6144, 1});
  apart.tensor(4, {11, 16, 128, 128}, {262144, 16384, 128, 1}, 405504);
  check_no_match(ask(rule, apart),
                 "blocks are 36864 bytes apart in tensor 0 and 1048576 in tensor 1");
  HandMade row(KVEDIT_KIND_MAMBA, 64, 1114112);
  row.tensor(1, {64, 1, 1, 1085440}, {1114112, 1085440, 1085440, 1});
  check_no_match(ask(rule, row), "1 state tensor, not several in one page");
  Qwen attention;
  check_no_match(ask(rule, attention), "kind is full_attention, not mamba");
}

TEST_CASE("mamba-row: one row for each block, tight or over the whole page") {
  const OpenedPack& rule = standard_pack("mamba-row");
  HandMade tight(KVEDIT_KIND_MAMBA, 64, 1114112), padded(KVEDIT_KIND_MAMBA, 8192, 131072);
  tight.states(1085440).tensor(1, {64, 1, 1, 1085440}, {1114112, 1085440, 1085440, 1});
  padded.states(67840).tensor(1, {8192, 1, 1, 131072}, {131072, 131072, 131072, 1});
  const Said said = ask(rule, tight);
  CHECK(said.verdict == KVEDIT_ANSWER_MATCH);
  CHECK(said.reason == "one row of 1085440 bytes for each block in a page of 1114112 bytes");
  CHECK(said.axes == Axes{{64, 1114112, block},
                          {1, 1085440, content},
                          {1, 1085440, content},
                          {1085440, 1, content}});
  CHECK(ask(rule, padded).verdict == KVEDIT_ANSWER_MATCH);
}

TEST_CASE("mamba-row: rows that are too many, too wide or too short are not its own") {
  const OpenedPack& rule = standard_pack("mamba-row");
  HandMade many(KVEDIT_KIND_MAMBA, 64, 4096), wide(KVEDIT_KIND_MAMBA, 64, 4096),
      overlapping(KVEDIT_KIND_MAMBA, 64, 4096), brief(KVEDIT_KIND_MAMBA, 64, 4096),
      list(KVEDIT_KIND_MAMBA, 64, 4096);
  many.tensor(1, {128, 2048}, {2048, 1});
  check_no_match(ask(rule, many), "axis 0 has 128 entries for 64 blocks, not one row for each");
  wide.tensor(1, {64, 4097}, {8192, 1});
  check_no_match(ask(rule, wide),
                 "a row spans 4097 bytes of a page of 4096, rows are 8192 bytes apart");
  overlapping.tensor(1, {64, 4000}, {3999, 1});
  check_no_match(ask(rule, overlapping),
                 "a row spans 4000 bytes of a page of 4096, rows are 3999 bytes apart");
  brief.states(4001).tensor(1, {64, 4000}, {4096, 1});
  check_no_match(ask(rule, brief), "a row of 4000 bytes is short of the states of 4001 bytes");
  list.tensor(1, {64, 16}, {4096, 1}).tensor(1, {64, 16}, {4096, 1}, 16);
  check_no_match(ask(rule, list), "2 state tensors, not one row for each block");
}

TEST_CASE("mamba rules: rows are not blocks where the placement says otherwise") {
  HandMade row(KVEDIT_KIND_MAMBA, 4, 84);
  row.states(78).tensor(1, {4, 80}, {80, 1}).placed(80);
  CHECK(ask(standard_pack("mamba-row"), row).verdict == KVEDIT_ANSWER_MATCH);
  check_no_match(ask(standard_pack("mamba-row"), row.placed(20)),
                 "as placed, axis 1 carries the blocks, not axis 0");
  // No axis is placed so: the rule's claim shows the host which one is wrong.
  CHECK(ask(standard_pack("mamba-row"), row.placed(88)).verdict == KVEDIT_ANSWER_MATCH);
  HandMade list(KVEDIT_KIND_MAMBA, 4, 80);
  list.states(80).tensor(1, {4, 40}, {80, 1}).tensor(1, {4, 40}, {80, 1}, 40).placed(80);
  CHECK(ask(standard_pack("mamba-page"), list).verdict == KVEDIT_ANSWER_MATCH);
  check_no_match(ask(standard_pack("mamba-page"), list.placed(10)),
                 "as placed, axis 1 carries the blocks, not axis 0");
}

TEST_CASE("subpaged rules: a placement counts what axes and numbers do not") {
  HandMade scales(KVEDIT_KIND_FULL_ATTENTION, 10, 512), latent(KVEDIT_KIND_MLA_ATTENTION, 10, 512);
  for (HandMade* each : {&scales, &latent}) {
    each->tokens(16, 16).with("page_size_padded", 512).unpadded(512);
    each->tensor(1, {40, 4, 30}, {128, 30, 1});
  }
  const auto said = [](const char* rule, const HandMade& layer) {
    return ask(standard_pack(rule), layer);
  };
  CHECK(said("subpaged-attention", scales).verdict == KVEDIT_ANSWER_NO_MATCH);
  CHECK(said("subpaged-mla", latent).verdict == KVEDIT_ANSWER_NO_MATCH);
  const char* const four = "4 kernel pages of 120 bytes make the page of 480 bytes";
  CHECK(said("subpaged-attention", scales.placed(512)).reason == four);
  CHECK(said("subpaged-mla", latent.placed(512)).reason == four);
}

TEST_CASE("the example: kernel pages striped over the pool") {
  const OpenedPack striped(SDK_TEST_PACKS "/sdk_test.striped.so");
  HandMade made(KVEDIT_KIND_UNKNOWN, 12, 16384);
  made.named("StripedAttentionSpec", {"ExampleSpec"}).tokens(64, 64);
  made.tensor(2, {48, 16, 2, 64}, {2048, 128, 64, 1});
  const Said said = ask(striped, made);
  CHECK(said.verdict == KVEDIT_ANSWER_MATCH);
  CHECK(said.declared);
  CHECK(said.reason == "4 kernel pages of 4096 bytes, 12 entries apart");
  CHECK(
      said.axes ==
      Axes{
          {12, 4096, block}, {4, 49152, page}, {16, 256, token}, {2, 128, head}, {64, 2, content}});
  made.raw().num_blocks = 13;
  CHECK(ask(striped, made).verdict == KVEDIT_ANSWER_REFUSE);
  check_no_match(ask(striped, Qwen()), "spec is TestSpec, not StripedAttentionSpec");
}
