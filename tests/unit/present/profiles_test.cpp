#include "present/present.hpp"

#include <catch2/catch.hpp>

#include "layers.hpp"
#include "prove/prove.hpp"

using namespace kvedit;
using namespace kvedit::testing;

namespace {

using Roles = std::vector<Role>;
constexpr Profile profiles[] = {Profile::native, Profile::packed, Profile::bytes};

/// The layer's class after proof and presentation.
struct Presented {
  LayerClass of;
  std::optional<Failure> failure;
};

Presented shown(const Layer& layer, Profile profile, const Plan* plan = nullptr,
                std::int64_t placed = -1) {
  Presented made;
  made.of.facts = layer.facts(placed);
  made.of.rule = plan ? 0 : -1;
  auto proof = prove::prove(made.of.facts, plan);
  if (const auto* failure = std::get_if<Failure>(&proof)) FAIL(failure->message);
  made.of.page = std::get<ProvedPage>(proof);
  made.failure = present::present(made.of, profile);
  return made;
}

/// A plan of the registered axes of the first tensor, with these roles.
Plan named(const Layer& layer, const Roles& roles) {
  const Tensor& tensor = layer.tensors[0];
  Box box{0, 0, tensor.dtype.itemsize, {}};
  for (std::size_t a = 0; a < roles.size(); ++a)
    box.axes.push_back({tensor.shape[a], tensor.stride[a] * tensor.dtype.itemsize, roles[a]});
  return {{box}, false};
}

void check_view(const Presented& made, const char* dtype, const Numbers& shape,
                const Numbers& stride, std::uint32_t block_axis = 0) {
  REQUIRE_FALSE(made.failure);
  REQUIRE(made.of.views.size() == 1);
  const ViewShape& view = made.of.views[0];
  CHECK(view.dtype.name == dtype);
  CHECK(view.shape == shape);
  CHECK(view.stride == stride);
  CHECK(view.block_axis == block_axis);
  CHECK(view.offset == 0);
  REQUIRE(view.axes.size() == shape.size());
  CHECK(view.axes[block_axis] == Role::block);
}

void check_refused(const Presented& made) {
  REQUIRE(made.failure);
  CHECK(made.failure->code == Code::profile);
}

Spec attention(std::int64_t block_size, std::int64_t page, std::int64_t heads,
               std::int64_t head_size, const char* type = "FullAttentionSpec") {
  return spec(type, block_size, page,
              {field("num_kv_heads", heads), field("head_size", head_size)});
}

constexpr Role B = Role::block, KV = Role::kv, H = Role::head, T = Role::token, C = Role::content,
               P = Role::kernel_page;

}  // namespace

TEST_CASE("present: dense attention as registered, or its page as bytes") {
  // 16 tokens of one head, K beside V of 16 elements: 1,024 bytes in steps of 2,048.
  const Layer layer{
      attention(16, 1024, 1, 16), {tensor("bfloat16", {4, 1, 16, 32}, {1024, 512, 32, 1})}, 4};
  for (const Profile profile : profiles) {
    const Presented made = shown(layer, profile);
    if (profile == Profile::bytes)
      check_view(made, "uint8", {4, 1024}, {2048, 1});
    else
      check_view(made, "bfloat16", {4, 1, 16, 32}, {1024, 512, 32, 1});
    CHECK(made.of.slots == 16);
    CHECK_FALSE(made.of.opaque);
  }
  CHECK(shown(layer, Profile::native).of.views[0].axes == Roles{B, H, T, C});
}

TEST_CASE("present: bytes show the padding of a page too") {
  const Layer layer{padded_attention(1024, 1000), {tensor("int8", {4, 1000}, {1024, 1})}, 4};
  check_view(shown(layer, Profile::bytes), "uint8", {4, 1024}, {1024, 1});
}

TEST_CASE("present: content that is not K beside V of one head is opaque") {
  const Tensor memory = contiguous("bfloat16", {4, 1, 16, 32});
  CHECK_FALSE(shown({attention(16, 1024, 1, 16), {memory}, 4}, Profile::native).of.opaque);
  CHECK(shown({attention(16, 1024, 1, 24), {memory}, 4}, Profile::native).of.opaque);
  Tensor quantised = contiguous("uint8", {4, 1, 16, 64});
  CHECK(shown({attention(16, 1024, 1, 32), {quantised}, 4}, Profile::native).of.opaque);
}

TEST_CASE("present: sub-paged attention in synthetic axes") {
  // Two kernel pages of 8 tokens, 2 heads, 16 elements: 512 elements a page, 16 tokens.
  const Layer heads_first{attention(16, 1024, 2, 8), {contiguous("bfloat16", {8, 2, 8, 16})}, 4};
  const Layer tokens_first{attention(16, 1024, 2, 8), {contiguous("bfloat16", {8, 8, 2, 16})}, 4};
  const Plan heads = named(heads_first, {B, H, T, C}), tokens = named(tokens_first, {B, T, H, C});
  check_view(shown(heads_first, Profile::native, &heads), "bfloat16", {4, 2, 16, 1, 16},
             {512, 256, 16, 16, 1});
  check_view(shown(tokens_first, Profile::native, &tokens), "bfloat16", {4, 2, 16, 1, 16},
             {512, 256, 16, 16, 1});
  check_view(shown(heads_first, Profile::packed, &heads), "bfloat16", {4, 1, 16, 32},
             {512, 512, 32, 1});
  check_view(shown(tokens_first, Profile::packed, &tokens), "bfloat16", {4, 16, 1, 32},
             {512, 32, 32, 1});
  for (const Profile profile : profiles) {
    const Presented made = shown(heads_first, profile, &heads);
    CHECK(made.of.slots == 16);
    CHECK(made.of.opaque);
  }
  check_view(shown(heads_first, Profile::bytes, &heads), "uint8", {4, 1024}, {1024, 1});
}

TEST_CASE("present: first in memory decides, not in the order of axes") {
  const Tensor tokens_outside = contiguous("bfloat16", {8, 8, 2, 16});
  const Layer layer{attention(16, 1024, 2, 8), {permuted(tokens_outside, {0, 2, 1, 3})}, 4};
  const Plan plan = named(layer, {B, H, T, C});
  check_view(shown(layer, Profile::packed, &plan), "bfloat16", {4, 16, 1, 32}, {512, 32, 32, 1});
}

TEST_CASE("present: where slots do not divide the page in halves, they divide the whole") {
  // 3 heads of 5 elements in each of 16 slots: 15 for each slot, no two halves.
  const Layer layer{attention(16, 480, 3, 5), {contiguous("bfloat16", {8, 3, 8, 5})}, 4};
  const Plan plan = named(layer, {B, H, T, C});
  for (const Profile profile : {Profile::native, Profile::packed})
    check_view(shown(layer, profile, &plan), "bfloat16", {4, 1, 16, 15}, {240, 240, 15, 1});
}

TEST_CASE("present: a page that slots do not divide is one slot") {
  // 24 tokens do not divide 512 elements.
  const Layer layer{attention(24, 1024, 2, 8), {contiguous("bfloat16", {8, 2, 8, 16})}, 4};
  const Plan plan = named(layer, {B, H, T, C});
  for (const Profile profile : {Profile::native, Profile::packed}) {
    const Presented made = shown(layer, profile, &plan);
    check_view(made, "bfloat16", {4, 1, 512}, {512, 512, 1});
    CHECK(made.of.slots == 24);
    CHECK(made.of.opaque);
  }
  check_view(shown(layer, Profile::bytes, &plan), "uint8", {4, 1024}, {1024, 1});
}

TEST_CASE("present: kernel pages on an axis of their own, tokens first, become one token axis") {
  const Layer layer{attention(16, 1024, 2, 8), {contiguous("bfloat16", {4, 2, 8, 2, 16})}, 4};
  const Plan plan = named(layer, {B, P, T, H, C});
  for (const Profile profile : {Profile::native, Profile::packed}) {
    const Presented made = shown(layer, profile, &plan);
    check_view(made, "bfloat16", {4, 16, 2, 16}, {512, 32, 16, 1});
    CHECK(made.of.views[0].axes == Roles{B, T, H, C});
    CHECK(made.of.page->kernel_pages == 1);
    CHECK(made.of.slots == 16);
    CHECK_FALSE(made.of.opaque);
  }
  check_view(shown(layer, Profile::bytes, &plan), "uint8", {4, 1024}, {1024, 1});
}

TEST_CASE("present: kernel pages on an axis of their own, heads first, are cut into slots") {
  const Layer layer{attention(16, 1024, 2, 8), {contiguous("bfloat16", {4, 2, 2, 8, 16})}, 4};
  const Plan plan = named(layer, {B, P, H, T, C});
  check_view(shown(layer, Profile::native, &plan), "bfloat16", {4, 2, 16, 1, 16},
             {512, 256, 16, 16, 1});
  check_view(shown(layer, Profile::packed, &plan), "bfloat16", {4, 1, 16, 32}, {512, 512, 32, 1});
  check_view(shown(layer, Profile::bytes, &plan), "uint8", {4, 1024}, {1024, 1});
  CHECK(shown(layer, Profile::native, &plan).of.opaque);
  CHECK(shown(layer, Profile::native, &plan).of.slots == 16);
  // 3 heads of 5 elements: no two halves of 4 slots. The axes stay, and tell what they are.
  const Layer odd{attention(4, 120, 3, 5), {contiguous("bfloat16", {4, 2, 3, 2, 5})}, 4};
  const Plan odd_plan = named(odd, {B, P, H, T, C});
  const Presented kept = shown(odd, Profile::native, &odd_plan);
  check_view(kept, "bfloat16", {4, 2, 3, 2, 5}, {60, 30, 10, 5, 1});
  CHECK(kept.of.views[0].axes == Roles{B, P, H, T, C});
}

TEST_CASE("present: latent kernel pages on an axis of their own") {
  const Spec latent = attention(16, 1024, 1, 32, "MLAAttentionSpec");
  const Layer layer{latent, {contiguous("bfloat16", {4, 2, 8, 32})}, 4};
  const Plan plan = named(layer, {B, P, T, C});
  for (const Profile profile : {Profile::native, Profile::packed}) {
    const Presented made = shown(layer, profile, &plan);
    check_view(made, "bfloat16", {4, 16, 32}, {512, 32, 1});
    CHECK_FALSE(made.of.opaque);
  }
}

TEST_CASE("present: re-strided planes, K and V of a kernel page side by side, are one run") {
  // [2, NB, kbs, H, D]: 256 bytes of K, 256 of V, and so on.
  const Layer layer{
      attention(16, 1024, 2, 8), {tensor("bfloat16", {2, 8, 8, 2, 8}, {128, 256, 16, 8, 1})}, 4};
  const Plan plan = named(layer, {KV, B, T, H, C});
  const Presented made = shown(layer, Profile::native, &plan);
  check_view(made, "bfloat16", {4, 2, 16, 1, 16}, {512, 256, 16, 16, 1});
  CHECK(made.of.opaque);
  check_view(shown(layer, Profile::packed, &plan), "bfloat16", {4, 16, 1, 32}, {512, 32, 32, 1});
  check_view(shown(layer, Profile::bytes, &plan), "uint8", {4, 1024}, {1024, 1});
}

TEST_CASE("present: heads outside of kernel pages keep their axis, tokens merged") {
  const Layer layer{attention(16, 1024, 2, 8), {contiguous("bfloat16", {2, 8, 8, 16})}, 4};
  const Plan plan = named(layer, {H, B, T, C});
  for (const Profile profile : {Profile::native, Profile::packed}) {
    const Presented made = shown(layer, profile, &plan);
    check_view(made, "bfloat16", {2, 4, 16, 16}, {1024, 256, 16, 1}, 1);
    CHECK(made.of.views[0].axes == Roles{H, B, T, C});
    CHECK_FALSE(made.of.opaque);
  }
  const Presented refused = shown(layer, Profile::bytes, &plan);
  check_refused(refused);
  CHECK(refused.failure->facts == std::vector<Fact>{{"runs", std::int64_t{2}}});
}

TEST_CASE("present: K and V in kernel-paged tensors of their own") {
  const Layer layer{
      attention(16, 1024, 2, 8),
      {contiguous("bfloat16", {8, 8, 2, 8}, 0, "k"), contiguous("bfloat16", {8, 2, 8, 8}, 0, "v")},
      4};
  Plan plan = named(layer, {B, T, H, C});
  Box v{1, 0, 2, {}};
  for (const Axis& axis : {Axis{8, 256, B}, Axis{2, 128, H}, Axis{8, 16, T}, Axis{8, 2, C}})
    v.axes.push_back(axis);
  plan.boxes.push_back(v);
  for (const Profile profile : {Profile::native, Profile::packed}) {
    const Presented made = shown(layer, profile, &plan);
    REQUIRE_FALSE(made.failure);
    REQUIRE(made.of.views.size() == 2);
    CHECK(made.of.views[0].shape == Numbers{4, 16, 2, 8});
    CHECK(made.of.views[0].stride == Numbers{256, 16, 8, 1});
    CHECK(made.of.views[0].axes == Roles{B, T, H, C});
    CHECK(made.of.views[1].tensor == 1);
    CHECK(made.of.views[1].shape == Numbers{4, 2, 2, 8, 8});  // heads lie between its pages
    CHECK(made.of.views[1].stride == Numbers{256, 128, 64, 8, 1});
    CHECK(made.of.views[1].axes == Roles{B, P, H, T, C});
  }
  check_refused(shown(layer, Profile::bytes, &plan));
}

TEST_CASE("present: planes, one entry a block") {
  const Layer layer{attention(16, 1024, 2, 8), {contiguous("bfloat16", {2, 4, 16, 2, 8})}, 4};
  for (const Profile profile : {Profile::native, Profile::packed}) {
    const Presented made = shown(layer, profile);
    check_view(made, "bfloat16", {2, 4, 16, 2, 8}, {1024, 256, 16, 8, 1}, 1);
    CHECK(made.of.views[0].axes == Roles{KV, B, T, H, C});
    CHECK(made.of.slots == 16);
    CHECK_FALSE(made.of.opaque);
  }
  check_refused(shown(layer, Profile::bytes));
}

TEST_CASE("present: planes of kernel pages, tokens first") {
  const Layer layer{attention(16, 1024, 2, 8), {contiguous("bfloat16", {2, 8, 8, 2, 8})}, 4};
  const Plan plan = named(layer, {KV, B, T, H, C});
  for (const Profile profile : {Profile::native, Profile::packed})
    check_view(shown(layer, profile, &plan), "bfloat16", {2, 4, 16, 2, 8}, {1024, 256, 16, 8, 1},
               1);
  check_refused(shown(layer, Profile::bytes, &plan));
}

TEST_CASE("present: planes of kernel pages, heads first") {
  const Layer layer{attention(16, 1024, 2, 8), {contiguous("bfloat16", {2, 8, 2, 8, 8})}, 4};
  const Plan plan = named(layer, {KV, B, H, T, C});
  for (const Profile profile : {Profile::native, Profile::packed}) {
    const Presented made = shown(layer, profile, &plan);
    check_view(made, "bfloat16", {2, 4, 16, 1, 16}, {1024, 256, 16, 16, 1}, 1);
    CHECK(made.of.opaque);
  }
  check_refused(shown(layer, Profile::bytes, &plan));
}

TEST_CASE("present: latent pages keep their rank, states merged") {
  const Spec latent = attention(16, 1024, 1, 32, "MLAAttentionSpec");
  const Layer rank3{latent, {contiguous("bfloat16", {8, 8, 32})}, 4};
  const Layer rank4{latent, {contiguous("bfloat16", {8, 1, 8, 32})}, 4};
  const Plan plan3 = named(rank3, {B, T, C}), plan4 = named(rank4, {B, H, T, C});
  for (const Profile profile : {Profile::native, Profile::packed}) {
    check_view(shown(rank3, profile, &plan3), "bfloat16", {4, 16, 32}, {512, 32, 1});
    const Presented made = shown(rank4, profile, &plan4);
    REQUIRE_FALSE(made.failure);
    CHECK(made.of.views[0].shape == Numbers{4, 1, 16, 32});
    CHECK(made.of.views[0].stride[0] == 512);
    CHECK(made.of.views[0].stride[2] == 32);
  }
  check_view(shown(rank3, Profile::bytes, &plan3), "uint8", {4, 1024}, {1024, 1});
}

TEST_CASE("present: declared compression keeps its states") {
  // 16 tokens in 4 states, 2 in each kernel page.
  const Layer layer{
      spec("MLAAttentionSpec", 16, 256, {field("head_size", 32), field("num_states", 4)}),
      {contiguous("bfloat16", {8, 2, 32})},
      4};
  const Plan plan = named(layer, {B, T, C});
  const Presented made = shown(layer, Profile::native, &plan);
  check_view(made, "bfloat16", {4, 4, 32}, {128, 32, 1});
  CHECK(made.of.slots == 4);
}

TEST_CASE("present: sub-paged attention with declared compression has a slot for each state") {
  // 64 tokens in 16 states, 8 in each of two kernel pages.
  const Layer layer{spec("FullAttentionSpec", 64, 1024,
                         {field("num_kv_heads", 2), field("head_size", 8), field("num_states", 16),
                          field("tokens_per_state", 4)}),
                    {contiguous("bfloat16", {8, 8, 2, 16})},
                    4};
  const Plan plan = named(layer, {B, T, H, C});
  const Presented made = shown(layer, Profile::native, &plan);
  check_view(made, "bfloat16", {4, 2, 16, 1, 16}, {512, 256, 16, 16, 1});
  CHECK(made.of.slots == 16);
  check_view(shown(layer, Profile::packed, &plan), "bfloat16", {4, 16, 1, 32}, {512, 32, 32, 1});
}

TEST_CASE("present: recurrent states in one page, in the dtype of the first tensor") {
  const auto layer = [](std::int64_t block_size) {
    return Layer{states(block_size, 1024, {64, 128}),
                 {tensor("float32", {4, 64}, {256, 1}), tensor("float32", {4, 128}, {256, 1}, 64)},
                 4};
  };
  const Plan whole{{{0, 0, 4, {}}}, false};
  Plan plan = whole;
  plan.boxes[0].axes.push_back({4, 1024, B});
  plan.boxes[0].axes.push_back({256, 4, C});
  // 256 elements: 2 x 16 x 8.
  for (const Profile profile : {Profile::native, Profile::packed}) {
    const Presented made = shown(layer(16), profile, &plan);
    check_view(made, "float32", {4, 2, 16, 1, 8}, {256, 128, 8, 8, 1});
    CHECK(made.of.slots == 16);
    CHECK(made.of.opaque);
  }
  const Presented uneven = shown(layer(24), Profile::native, &plan);
  check_view(uneven, "float32", {4, 1, 256}, {256, 256, 1});
  CHECK(uneven.of.slots == 1);
  CHECK(uneven.of.opaque);
  for (const std::int64_t block_size : {16, 24})
    check_view(shown(layer(block_size), Profile::bytes, &plan), "uint8", {4, 1024}, {1024, 1});
}

TEST_CASE("present: a recurrent row is cut into slots, tokens or heads first by the layout") {
  struct Row {
    const char* dtype;
    std::int64_t row, page, width;  // elements, bytes, elements
  };
  // ceil(row / 16), rounded up to the widest step that divides the page's and fits.
  const Row rows[] = {
      {"int8", 1000, 1024, 64},     // 63 → 16 bytes
      {"int8", 800, 1024, 64},      // 50 → 16 bytes, not 8
      {"bfloat16", 500, 1024, 32},  // 32 already
      {"int8", 970, 1000, 62},      // 61 → 2 bytes: 64 would leave the page
      {"int8", 90, 104, 6},         // 6 already, in steps of 2 bytes
  };
  for (const Row& row : rows) {
    Layer layer{spec("MambaSpec", 16, row.page), {}, 4};
    const std::int64_t step = row.page / find_dtype(row.dtype)->itemsize;
    layer.tensors = {tensor(row.dtype, {4, row.row}, {step, 1})};
    const Plan plan = named(layer, {B, C});
    const std::int64_t width = row.width;
    INFO(row.dtype << " row of " << row.row << " in a page of " << row.page);
    for (const char* layout : {"", "NHD", "LBNHC", "BLNHC"}) {
      layer.layout = layout;
      const Presented made = shown(layer, Profile::native, &plan);
      check_view(made, row.dtype, {4, 16, 1, width}, {step, width, width, 1});
      CHECK(made.of.slots == 16);
      CHECK(made.of.opaque);
    }
    for (const char* layout : {"HND", "LBHNC", "BLHNC", "LHBNC", "BHLNC"}) {
      layer.layout = layout;
      check_view(shown(layer, Profile::packed, &plan, row.page), row.dtype, {4, 1, 16, width},
                 {step, 16 * width, width, 1});
    }
    check_view(shown(layer, Profile::bytes, &plan, row.page), "uint8", {4, row.page},
               {row.page, 1});
  }
}

TEST_CASE("present: a recurrent row that no width fits is one slot, as registered") {
  // 63 bytes a slot are 64 with any step, and 16 of 64 leave the page of 1,020.
  const Layer layer{spec("MambaSpec", 16, 1020), {tensor("int8", {4, 1000}, {1020, 1})}, 4};
  const Plan plan = named(layer, {B, C});
  for (const Profile profile : {Profile::native, Profile::packed}) {
    const Presented made = shown(layer, profile, &plan);
    check_view(made, "int8", {4, 1000}, {1020, 1});
    CHECK(made.of.slots == 1);
    CHECK(made.of.opaque);
  }
}

TEST_CASE("present: heads outside and several tensors as registered; bytes only of one window") {
  const Tensor memory = contiguous("bfloat16", {3, 8, 16, 32});
  const Layer outside{attention(16, 3072, 3, 16), {permuted(memory, {1, 0, 2, 3})}, 8, "LHBNC"};
  for (const Profile profile : {Profile::native, Profile::packed})
    check_view(shown(outside, profile), "bfloat16", {8, 3, 16, 32}, {512, 4096, 32, 1});
  check_refused(shown(outside, Profile::bytes));

  Layer pair{attention(16, 1024, 2, 8),
             {contiguous("bfloat16", {4, 16, 2, 8}, 0, "a"),
              contiguous("bfloat16", {4, 16, 2, 8}, 0, "b")},
             4};
  const Presented made = shown(pair, Profile::native);
  REQUIRE_FALSE(made.failure);
  REQUIRE(made.of.views.size() == 2);
  CHECK(made.of.views[1].tensor == 1);
  CHECK(made.of.views[1].shape == Numbers{4, 16, 2, 8});
  CHECK(made.of.views[1].axes == Roles{B, T, H, C});
  check_refused(shown(pair, Profile::bytes));

  pair.tensors = {tensor("bfloat16", {4, 16, 2, 8}, {512, 16, 8, 1}),
                  tensor("bfloat16", {4, 16, 2, 8}, {512, 16, 8, 1}, 256)};
  check_view(shown(pair, Profile::bytes), "uint8", {4, 1024}, {1024, 1});
}

TEST_CASE("present: a declared order that merges into no row keeps its own axes") {
  const Layer layer{attention(16, 1024, 2, 8), {contiguous("bfloat16", {8, 8, 2, 16})}, 4};
  Plan striped{{{0, 0, 2, {}}}, true};
  for (const Axis& axis : {Axis{4, 512, B}, Axis{2, 2048, Role::kernel_page}, Axis{8, 64, T},
                           Axis{2, 32, H}, Axis{16, 2, C}})
    striped.boxes[0].axes.push_back(axis);
  const Presented made = shown(layer, Profile::native, &striped);
  check_view(made, "bfloat16", {4, 2, 8, 2, 16}, {256, 1024, 32, 16, 1});
  CHECK(made.of.slots == 16);
  check_refused(shown(layer, Profile::bytes, &striped));
}
