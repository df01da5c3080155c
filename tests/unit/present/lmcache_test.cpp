#include <catch2/catch.hpp>

#include "layers.hpp"
#include "present/present.hpp"
#include "prove/prove.hpp"

using namespace kvedit;
using namespace kvedit::testing;

namespace {

constexpr Role B = Role::block, H = Role::head, T = Role::token, C = Role::content;
constexpr HeadOrder orders[] = {HeadOrder::tokens_first, HeadOrder::heads_first};

struct Presented {
  LayerClass of;
  std::optional<Failure> failure;
};

/// The layer's class after proof, shown for LMCache; `roles` name the axes of its first tensor.
Presented shown(const Layer& layer, const present::Reader& reader,
                const std::vector<Role>& roles = {}, std::int64_t placed = -1) {
  Presented made;
  made.of.facts = layer.facts(placed);
  Plan plan;
  if (!roles.empty()) {
    const Tensor& tensor = layer.tensors[0];
    const std::int64_t item = tensor.dtype.itemsize;
    Box& box = plan.boxes.emplace_back(Box{0, 0, item, {}});
    for (std::size_t a = 0; a < roles.size(); ++a)
      box.axes.push_back({tensor.shape[a], tensor.stride[a] * item, roles[a]});
  }
  made.of.rule = roles.empty() ? -1 : 0;
  auto proof = prove::prove(made.of.facts, roles.empty() ? nullptr : &plan);
  if (const auto* failure = std::get_if<Failure>(&proof)) FAIL(failure->message);
  made.of.page = std::get<ProvedPage>(proof);
  made.failure = present::present(made.of, Profile::lmcache, reader);
  return made;
}

void check_view(const Presented& made, const Numbers& shape, const Numbers& stride) {
  REQUIRE_FALSE(made.failure);
  REQUIRE(made.of.views.size() == 1);
  CHECK(made.of.views[0].shape == shape);
  CHECK(made.of.views[0].stride == stride);
}

/// So many blocks of two kernel pages of 8 tokens: 512 elements a block of 16 tokens.
Layer kernel_paged(std::int64_t blocks) {
  return {spec("FullAttentionSpec", 16, 1024, {field("num_kv_heads", 2), field("head_size", 8)}),
          {contiguous("bfloat16", {2 * blocks, 2, 8, 16})},
          blocks};
}

}  // namespace

TEST_CASE("lmcache view: kernel pages become slots of one head under heads first") {
  const Presented made = shown(kernel_paged(4), {HeadOrder::heads_first}, {B, H, T, C});
  check_view(made, {4, 1, 16, 32}, {512, 512, 32, 1});
  CHECK(made.of.slots == 16);
  CHECK(made.of.opaque);
}

TEST_CASE("lmcache view: kernel pages stay in halves under tokens first") {
  const Presented made = shown(kernel_paged(3), {HeadOrder::tokens_first}, {B, H, T, C});
  check_view(made, {3, 2, 16, 1, 16}, {512, 256, 16, 16, 1});
}

TEST_CASE("lmcache view: two blocks would be taken for K and V") {
  check_view(shown(kernel_paged(2), {HeadOrder::tokens_first}, {B, H, T, C}), {2, 16, 1, 32},
             {512, 32, 32, 1});
}

TEST_CASE("lmcache view: halves cannot have other bytes between blocks") {
  // Four kernel pages apart by 600 elements each would leave gaps inside a block, so the pages of a
  // block come as an axis of their own: 2 pages of 256 elements, blocks 700 apart.
  Layer layer = kernel_paged(4);
  layer.tensors = {tensor("bfloat16", {4, 2, 2, 8, 16}, {700, 256, 128, 16, 1})};
  const Presented made = shown(layer, {HeadOrder::tokens_first}, {B, Role::kernel_page, H, T, C});
  check_view(made, {4, 16, 1, 32}, {700, 32, 32, 1});
}

TEST_CASE("lmcache view: slots without halves where only they divide the page") {
  // 3 bytes a token: 48 elements of 16 tokens, no halves of 16 slots.
  Layer layer{spec("FullAttentionSpec", 16, 48), {contiguous("uint8", {8, 1, 8, 3})}, 4};
  const Presented made = shown(layer, {HeadOrder::tokens_first}, {B, H, T, C});
  check_view(made, {4, 16, 1, 3}, {48, 3, 3, 1});
}

TEST_CASE("lmcache view: the axis of a lone head takes the place its consumer sorts it to") {
  const Spec latent =
      spec("MLAAttentionSpec", 16, 1024, {field("num_kv_heads", 1), field("head_size", 32)});
  for (const std::int64_t registered : {32, 512, 7}) {
    const Layer whole{latent, {tensor("bfloat16", {4, 1, 16, 32}, {512, registered, 32, 1})}, 4};
    check_view(shown(whole, {HeadOrder::tokens_first}), {4, 1, 16, 32}, {512, 32, 32, 1});
    check_view(shown(whole, {HeadOrder::heads_first}), {4, 1, 16, 32}, {512, 512, 32, 1});
    const Layer behind{latent, {tensor("bfloat16", {4, 16, 1, 32}, {512, 32, registered, 1})}, 4};
    check_view(shown(behind, {HeadOrder::tokens_first}), {4, 16, 1, 32}, {512, 32, 32, 1});
    check_view(shown(behind, {HeadOrder::heads_first}), {4, 16, 1, 32}, {512, 32, 512, 1});
  }
  // Merged from two kernel pages of 8 states.
  const Layer paged{latent, {contiguous("bfloat16", {8, 1, 8, 32})}, 4};
  check_view(shown(paged, {HeadOrder::tokens_first}, {B, H, T, C}), {4, 1, 16, 32},
             {512, 32, 32, 1});
  check_view(shown(paged, {HeadOrder::heads_first}, {B, H, T, C}), {4, 1, 16, 32},
             {512, 512, 32, 1});
}

TEST_CASE("lmcache view: what is counted rightly stays as registered") {
  const Layer heads{
      spec("FullAttentionSpec", 16, 1024, {field("num_kv_heads", 2), field("head_size", 8)}),
      {tensor("bfloat16", {4, 2, 16, 16}, {512, 16, 32, 1})},
      4};
  check_view(shown(heads, {HeadOrder::tokens_first}), {4, 2, 16, 16}, {512, 16, 32, 1});
  const Layer latent{spec("MLAAttentionSpec", 16, 1024, {field("head_size", 32)}),
                     {contiguous("bfloat16", {4, 16, 32})},
                     4};
  for (const HeadOrder order : orders)
    check_view(shown(latent, {order}), {4, 16, 32}, {512, 32, 1});
}

TEST_CASE("lmcache view: heads that would be counted as tokens are slots of one head") {
  const Spec two_heads =
      spec("FullAttentionSpec", 16, 1024, {field("num_kv_heads", 2), field("head_size", 8)});
  // Tokens before heads in memory under heads first, and the other way round.
  const Layer tokens{two_heads, {tensor("bfloat16", {4, 2, 16, 16}, {512, 16, 32, 1})}, 4};
  check_view(shown(tokens, {HeadOrder::heads_first}), {4, 1, 16, 32}, {512, 512, 32, 1});
  const Layer heads{two_heads, {contiguous("bfloat16", {4, 2, 16, 16})}, 4};
  check_view(shown(heads, {HeadOrder::tokens_first}), {4, 16, 1, 32}, {512, 32, 32, 1});
  check_view(shown(heads, {HeadOrder::heads_first}), {4, 2, 16, 16}, {512, 256, 16, 1});
}

TEST_CASE("lmcache view: halves and planes are cut where their order is not the layout's") {
  const Spec two_heads =
      spec("FullAttentionSpec", 16, 1024, {field("num_kv_heads", 2), field("head_size", 8)});
  // K beside V in each block, 16 tokens of 2 heads of 8.
  const Layer halves{two_heads, {contiguous("bfloat16", {4, 2, 16, 2, 8})}, 4};
  check_view(shown(halves, {HeadOrder::tokens_first}), {4, 2, 16, 2, 8}, {512, 256, 16, 8, 1});
  check_view(shown(halves, {HeadOrder::heads_first}), {4, 1, 16, 32}, {512, 512, 32, 1});
  const Layer planes{two_heads, {contiguous("bfloat16", {2, 4, 16, 2, 8})}, 4};
  check_view(shown(planes, {HeadOrder::tokens_first}), {2, 4, 16, 2, 8}, {1024, 256, 16, 8, 1});
  check_view(shown(planes, {HeadOrder::heads_first}), {2, 4, 1, 16, 16}, {1024, 256, 256, 16, 1});
  // Kernel pages of planes: 2 of 8 tokens make a block.
  const Layer paged{two_heads, {contiguous("bfloat16", {2, 8, 8, 2, 8})}, 4};
  const std::vector<Role> roles = {Role::kv, B, T, H, C};
  check_view(shown(paged, {HeadOrder::heads_first}, roles), {2, 4, 1, 16, 16},
             {1024, 256, 256, 16, 1});
}

TEST_CASE("lmcache view: halves of two blocks, and halves with gaps, are slots of one head") {
  const Spec padded = padded_attention(2048, 1024);
  const Layer gaps{padded, {tensor("bfloat16", {4, 2, 16, 2, 8}, {1024, 256, 16, 8, 1})}, 4};
  check_view(shown(gaps, {HeadOrder::tokens_first}), {4, 16, 1, 32}, {1024, 32, 32, 1});
  const Layer two{
      spec("FullAttentionSpec", 16, 1024, {field("num_kv_heads", 2), field("head_size", 8)}),
      {contiguous("bfloat16", {2, 2, 16, 2, 8})},
      2};
  check_view(shown(two, {HeadOrder::tokens_first}, {}, 1024), {2, 16, 1, 32}, {512, 32, 32, 1});
}

TEST_CASE("lmcache view: a payload behind the axes is cut in its slots") {
  // 64 rows of 584 bytes and 64 bytes more: 585 a slot.
  const Layer layer{spec("MLAAttentionSpec", 64, 37440,
                         {field("head_size", 584), field("page_size_padded", 37440)}),
                    {tensor("uint8", {4, 64, 584}, {37440, 584, 1})},
                    4};
  check_view(shown(layer, {HeadOrder::tokens_first}), {4, 64, 1, 585}, {37440, 585, 585, 1});
  check_view(shown(layer, {HeadOrder::heads_first}), {4, 1, 64, 585}, {37440, 37440, 585, 1});
}

TEST_CASE("lmcache view: a lone block's stride reaches behind it") {
  const Layer layer{
      spec("FullAttentionSpec", 16, 1024, {field("num_kv_heads", 2), field("head_size", 8)}),
      {tensor("bfloat16", {1, 2, 16, 16}, {5, 256, 16, 1})},
      1};
  check_view(shown(layer, {HeadOrder::heads_first}), {1, 2, 16, 16}, {512, 256, 16, 1});
}

TEST_CASE("lmcache view: several states for a token are one slot") {
  const Layer layer{
      spec("FullAttentionSpec", 4, 1024,
           {field("num_kv_heads", 2), field("head_size", 8), field("num_states", 16)}),
      {contiguous("bfloat16", {4, 2, 16, 16})},
      4};
  const Presented made = shown(layer, {HeadOrder::heads_first});
  check_view(made, {4, 1, 4, 128}, {512, 512, 128, 1});
  CHECK(made.of.slots == 16);  // of the page, in every profile
}

TEST_CASE("lmcache view: a state in a list is a page of states, however many there are") {
  Layer layer{states(16, 1024, {128}), {tensor("float32", {4, 128}, {256, 1})}, 4};
  LayerClass of;
  of.facts = layer.facts();
  of.facts.listed = true;
  of.rule = 0;
  Plan plan{{{0, 0, 4, {}}}, false};
  plan.boxes[0].axes.push_back({4, 1024, B});
  plan.boxes[0].axes.push_back({128, 4, C});
  of.page = std::get<ProvedPage>(prove::prove(of.facts, &plan));
  REQUIRE_FALSE(present::present(of, Profile::lmcache, {HeadOrder::tokens_first}));
  CHECK(of.views.at(0).shape == Numbers{4, 2, 16, 1, 8});
  of.facts.listed = false;
  REQUIRE_FALSE(present::present(of, Profile::lmcache, {HeadOrder::tokens_first}));
  CHECK(of.views.at(0).shape == Numbers{4, 16, 1, 8});
}

TEST_CASE("lmcache view: content that is not innermost is a run of slots all the same") {
  const Layer layer{
      spec("FullAttentionSpec", 4, 64, {field("num_kv_heads", 1), field("head_size", 8)}),
      {tensor("bfloat16", {4, 4, 1, 8}, {32, 1, 8, 4})},
      4};
  check_view(shown(layer, {HeadOrder::tokens_first}), {4, 4, 1, 8}, {32, 8, 8, 1});
}

TEST_CASE("lmcache view: a single token keeps its place before the heads") {
  const Layer layer{
      spec("FullAttentionSpec", 1, 64, {field("num_kv_heads", 2), field("head_size", 8)}),
      {tensor("bfloat16", {4, 2, 1, 16}, {32, 16, 16, 1})},
      4};
  check_view(shown(layer, {HeadOrder::tokens_first}), {4, 2, 1, 16}, {32, 16, 32, 1});
  check_view(shown(layer, {HeadOrder::heads_first}), {4, 2, 1, 16}, {32, 16, 16, 1});
}

TEST_CASE("lmcache view: a row of states, tight or the whole page") {
  // 1,000 bytes in slots of 63, rounded up to 64; the page has 1,024.
  Layer layer{spec("MambaSpec", 16, 1024), {tensor("int8", {4, 1000}, {1024, 1})}, 4};
  layer.tensors = {tensor("int8", {4, 700}, {1024, 1})};
  for (const RecurrentRows rows : {RecurrentRows::tight, RecurrentRows::page}) {
    const std::int64_t width = rows == RecurrentRows::tight ? 48 : 64;
    const Presented tokens = shown(layer, {HeadOrder::tokens_first, rows}, {B, C});
    check_view(tokens, {4, 16, 1, width}, {1024, width, width, 1});
    const Presented heads = shown(layer, {HeadOrder::heads_first, rows}, {B, C});
    check_view(heads, {4, 1, 16, width}, {1024, 16 * width, width, 1});
    CHECK(heads.of.slots == 16);
  }
}

TEST_CASE("lmcache view: slots of a page that they do not divide are one") {
  // The row of 90 bytes is cut into 16 slots of 6; the page of 102 bytes is not.
  const Layer layer{spec("MambaSpec", 16, 102), {tensor("int8", {4, 90}, {102, 1})}, 4};
  const Presented made = shown(layer, {HeadOrder::tokens_first, RecurrentRows::page}, {B, C});
  check_view(made, {4, 1, 1, 102}, {102, 102, 102, 1});
  CHECK(made.of.slots == 16);  // of the page, in every profile
}

TEST_CASE("lmcache view: states in one page follow the order of heads and tokens") {
  const auto layer = [](std::int64_t blocks) {
    return Layer{
        states(16, 1024, {64, 128}),
        {tensor("float32", {blocks, 64}, {256, 1}), tensor("float32", {blocks, 128}, {256, 1}, 64)},
        blocks};
  };
  const auto in_one_page = [&](std::int64_t blocks, HeadOrder order) {
    LayerClass of;
    const Layer made = layer(blocks);
    of.facts = made.facts();
    of.rule = 0;
    Plan plan{{{0, 0, 4, {}}}, false};
    plan.boxes[0].axes.push_back({blocks, 1024, B});
    plan.boxes[0].axes.push_back({256, 4, C});
    of.page = std::get<ProvedPage>(prove::prove(of.facts, &plan));
    REQUIRE_FALSE(present::present(of, Profile::lmcache, {order}));
    CHECK(of.slots == 16);
    return of.views.at(0);
  };
  CHECK(in_one_page(4, HeadOrder::tokens_first).shape == Numbers{4, 2, 16, 1, 8});
  CHECK(in_one_page(2, HeadOrder::tokens_first).shape == Numbers{2, 16, 1, 16});
  CHECK(in_one_page(4, HeadOrder::heads_first).shape == Numbers{4, 1, 16, 16});
  CHECK(in_one_page(4, HeadOrder::heads_first).stride == Numbers{256, 256, 16, 1});
}
