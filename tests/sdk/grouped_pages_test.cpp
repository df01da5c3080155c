// kvedit.grouped-pages: pages on axis 1 are told from K and V by the spec's states and heads.
#include <catch2/catch.hpp>

#include "said.hpp"

using namespace sdk_test;

namespace {

const char* const seventeen_share = "17 kernel pages on axis 1 share the 544 states of a block";

/// 33 blocks of 544 tokens, 2 heads, 17 kernel pages of 32 tokens.
struct Qwen : HandMade {
  explicit Qwen(std::uint32_t kind = KVEDIT_KIND_FULL_ATTENTION) : HandMade(kind, 33, 1114112) {
    tokens(544, 544).with("num_kv_heads", 2);
  }
};

Said ask_grouped(const HandMade& layer) { return ask(standard_pack("grouped-pages"), layer); }

}  // namespace

TEST_CASE("grouped-pages: heads first and tokens first") {
  Qwen heads_first, tokens_first;
  heads_first.tensor(2, {33, 17, 2, 32, 512}, {557056, 32768, 16384, 512, 1});
  tokens_first.tensor(2, {33, 17, 32, 2, 512}, {557056, 32768, 1024, 512, 1});
  const Said said = ask_grouped(heads_first);
  CHECK(said.verdict == KVEDIT_ANSWER_MATCH);
  CHECK(said.reason == seventeen_share);
  CHECK_FALSE(said.declared);
  CHECK(said.axes == Axes{{33, 1114112, block},
                          {17, 65536, page},
                          {2, 32768, head},
                          {32, 1024, token},
                          {512, 2, content}});
  CHECK(ask_grouped(tokens_first).axes == Axes{{33, 1114112, block},
                                               {17, 65536, page},
                                               {32, 2048, token},
                                               {2, 1024, head},
                                               {512, 2, content}});
}

TEST_CASE("grouped-pages: latent pages, with and without the axis of the one head") {
  for (const std::uint32_t kind : {KVEDIT_KIND_MLA_ATTENTION, KVEDIT_KIND_SLIDING_WINDOW_MLA}) {
    HandMade rank4(kind, 19, 1105920), rank5(kind, 19, 1105920), compressed(kind, 31, 59136);
    rank4.tokens(960, 960).tensor(2, {19, 15, 64, 576}, {552960, 36864, 576, 1});
    CHECK(ask_grouped(rank4).axes ==
          Axes{{19, 1105920, block}, {15, 73728, page}, {64, 1152, token}, {576, 2, content}});
    rank5.tokens(960, 960).tensor(2, {19, 15, 1, 64, 576}, {552960, 36864, 36864, 576, 1});
    CHECK(ask_grouped(rank5).axes == Axes{{19, 1105920, block},
                                          {15, 73728, page},
                                          {1, 73728, head},
                                          {64, 1152, token},
                                          {576, 2, content}});
    compressed.tokens(1792, 448).with("tokens_per_state", 4);
    compressed.tensor(1, {31, 7, 64, 132}, {59136, 8448, 132, 1});
    CHECK(ask_grouped(compressed).reason ==
          "7 kernel pages on axis 1 share the 448 states of a block");
  }
}

TEST_CASE("grouped-pages: two pages are not K and V, and K and V are not two pages") {
  HandMade pages(KVEDIT_KIND_FULL_ATTENTION, 50, 65536),
      split(KVEDIT_KIND_FULL_ATTENTION, 50, 65536), permuted(KVEDIT_KIND_FULL_ATTENTION, 50, 65536);
  for (HandMade* const made : {&pages, &split, &permuted})
    made->tokens(16, 16).with("num_kv_heads", 8);
  pages.tensor(2, {50, 2, 8, 8, 256}, {32768, 16384, 2048, 256, 1});
  CHECK(ask_grouped(pages).axes.at(1).at(2) == page);
  const char* const none =
      "2 entries of axis 1 are no kernel pages that share 16 states and 8 heads";
  split.tensor(2, {50, 2, 16, 8, 128}, {32768, 16384, 1024, 128, 1});
  check_no_match(ask_grouped(split), none);
  permuted.tensor(2, {50, 2, 8, 16, 128}, {32768, 16384, 2048, 128, 1});
  check_no_match(ask_grouped(permuted), none);
}

TEST_CASE("grouped-pages: what is not its own says which numbers are in the way") {
  Qwen ungrouped, rank4, no_heads, mamba(KVEDIT_KIND_MAMBA), unknown(KVEDIT_KIND_UNKNOWN), pair;
  ungrouped.tensor(2, {561, 1, 2, 32, 512}, {32768, 32768, 16384, 512, 1});
  check_no_match(ask_grouped(ungrouped), "17 entries of axis 0 make a block");
  rank4.tensor(2, {33, 2, 544, 512}, {557056, 278528, 512, 1});
  check_no_match(ask_grouped(rank4), "rank 4 has no axis for kernel pages");
  HandMade bare(KVEDIT_KIND_FULL_ATTENTION, 33, 1114112);
  bare.tokens(544, 544).tensor(2, {33, 17, 2, 32, 512}, {557056, 32768, 16384, 512, 1});
  check_no_match(ask_grouped(bare),
                 "17 entries of axis 1 are no kernel pages that share 544 states and 0 heads");
  mamba.tensor(2, {33, 17, 2, 32, 512}, {557056, 32768, 16384, 512, 1});
  check_no_match(ask_grouped(mamba), "kind is mamba, no attention that this rule knows");
  unknown.tensor(2, {33, 17, 2, 32, 512}, {557056, 32768, 16384, 512, 1});
  check_no_match(ask_grouped(unknown), "kind is unknown, no attention that this rule knows");
  pair.tensor(2, {33, 17, 2, 32, 256}, {278528, 16384, 8192, 256, 1});
  pair.tensor(2, {33, 17, 2, 32, 256}, {278528, 16384, 8192, 256, 1}, 0, false);
  check_no_match(ask_grouped(pair), "2 tensors, not one");
  // A latent cache that has its one head behind the states is no row of pages of one state.
  HandMade behind(KVEDIT_KIND_MLA_ATTENTION, 19, 1105920);
  behind.tokens(960, 960).with("num_kv_heads", 1);
  behind.tensor(2, {19, 960, 1, 576}, {552960, 576, 576, 1});
  check_no_match(ask_grouped(behind),
                 "960 entries of axis 1 are no kernel pages that share 960 states and 1 heads");
}
