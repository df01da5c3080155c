#include <catch2/catch.hpp>

#include "layers.hpp"
#include "model/content.hpp"
#include "present/present.hpp"
#include "prove/prove.hpp"

using namespace kvedit;
using namespace kvedit::testing;

namespace {

using Roles = std::vector<Role>;
using Form = Content::Form;

constexpr Role B = Role::block, KV = Role::kv, H = Role::head, T = Role::token, C = Role::content,
               O = Role::opaque;

LayerClass shown(const Layer& layer) {
  LayerClass of;
  of.facts = layer.facts();
  auto proof = prove::prove(of.facts, nullptr);
  if (const auto* failure = std::get_if<Failure>(&proof)) FAIL(failure->message);
  of.page = std::get<ProvedPage>(proof);
  if (const auto failure = present::present(of, Profile::native)) FAIL(failure->message);
  return of;
}

std::optional<Content> content_of(const LayerClass& of) {
  return of.opaque ? std::nullopt : plain_content(of.facts, of.page->boxes);
}

Roles axes(const Layer& layer) { return shown(layer).views.at(0).axes; }

Spec attention(std::int64_t block_size, std::int64_t page, std::int64_t heads,
               std::int64_t head_size, std::vector<Attribute> more = {},
               const char* type = "FullAttentionSpec") {
  more.push_back(field("num_kv_heads", heads));
  more.push_back(field("head_size", head_size));
  return spec(type, block_size, page, std::move(more));
}

/// 4 blocks of 16 states of 16 heads, K beside V of 8 elements: as many heads as states.
Spec square(std::vector<Attribute> more = {}) {
  return attention(16, 8192, 16, 8, std::move(more));
}
const Tensor square_memory = contiguous("bfloat16", {4, 16, 16, 16});

void check_opaque(const Layer& layer, std::string_view because) {
  const LayerClass of = shown(layer);
  CHECK(of.opaque);
  CHECK(opaque_because(of) == because);
  CHECK_FALSE(content_of(of));
}

void check_content(const Layer& layer, const Content& content) {
  const LayerClass of = shown(layer);
  CHECK_FALSE(of.opaque);
  CHECK(opaque_because(of).empty());
  CHECK(content_of(of) == content);
}

/// 4 blocks of 16 states of 2 heads, so many elements of so many bytes each.
Tensor two_heads(const char* dtype, std::int64_t content) {
  return contiguous(dtype, {4, 2, 16, content});
}

}  // namespace

TEST_CASE("axes: as many heads as states have names where the layout confirms the engines' order") {
  // Theirs is heads, states; in memory either may be outside.
  const Tensor swapped = permuted(square_memory, {0, 2, 1, 3});
  for (const char* heads_first : {"HND", "LBHNC", "BLHNC"}) {
    CHECK(axes({square(), {square_memory}, 4, heads_first}) == Roles{B, H, T, C});
    CHECK(axes({square(), {swapped}, 4, heads_first}) == Roles{B, O, O, O});
  }
  for (const char* states_first : {"NHD", "LBNHC", "BLNHC"}) {
    CHECK(axes({square(), {square_memory}, 4, states_first}) == Roles{B, O, O, O});
    CHECK(axes({square(), {swapped}, 4, states_first}) == Roles{B, H, T, C});
  }
}

TEST_CASE("axes: as many heads as states, K and V apart: their order is states, heads") {
  const Layer split{square(), {contiguous("bfloat16", {4, 2, 16, 16, 8})}, 4, "NHD"};
  CHECK(axes(split) == Roles{B, KV, T, H, C});
  const Layer pair{square(),
                   {contiguous("bfloat16", {4, 16, 16, 8}, 0, "k"),
                    contiguous("bfloat16", {4, 16, 16, 8}, 0, "v")},
                   4,
                   "NHD"};
  CHECK(axes(pair) == Roles{B, T, H, C});
}

TEST_CASE("axes: as many heads as states, and no layout: opaque") {
  CHECK(axes({square(), {square_memory}, 4}) == Roles{B, O, O, O});
  check_opaque({square(), {square_memory}, 4}, "axes");
  // K and V on an axis of their own do not help.
  const Layer split{square(), {contiguous("bfloat16", {4, 2, 16, 16, 8})}, 4};
  CHECK(axes(split) == Roles{B, O, O, O, O});
}

TEST_CASE("axes: one head and one state are named whatever the layout") {
  const Layer layer{attention(1, 64, 1, 16), {contiguous("bfloat16", {4, 1, 1, 32})}, 4};
  CHECK(axes(layer) == Roles{B, H, T, C});
}

TEST_CASE("axes: two heads are heads, never K and V") {
  const Layer layer{attention(16, 4096, 2, 32), {two_heads("bfloat16", 64)}, 4};
  CHECK(axes(layer) == Roles{B, H, T, C});
  check_content(layer, {Form::k_beside_v, 32, 32});
  // An axis of 2 where the spec has 8 heads is none that is known.
  check_opaque({attention(16, 4096, 8, 8), {two_heads("bfloat16", 64)}, 4}, "axes");
}

TEST_CASE("content: K beside V, also of different sizes") {
  const Layer uneven{
      attention(16, 4096, 2, 40, {field("head_size_v", 24)}), {two_heads("bfloat16", 64)}, 4};
  check_content(uneven, {Form::k_beside_v, 40, 24});
  const Layer alone{attention(16, 4096, 2, 64, {field("head_size_v", std::int64_t{0})}),
                    {two_heads("bfloat16", 64)},
                    4};
  check_content(alone, {Form::key, 64, 0});
}

TEST_CASE("content: K and V along an axis, or in two tensors") {
  const Layer planes{attention(16, 4096, 2, 32), {contiguous("bfloat16", {4, 2, 16, 2, 32})}, 4};
  check_content(planes, {Form::kv_axis, 32, 32});
  Layer pair{attention(16, 4096, 2, 40, {field("head_size_v", 24)}),
             {contiguous("bfloat16", {4, 16, 2, 40}, 0, "k"),
              contiguous("bfloat16", {4, 16, 2, 24}, 0, "v")},
             4};
  check_content(pair, {Form::kv_tensors, 40, 24});
  std::swap(pair.tensors[0], pair.tensors[1]);
  check_opaque(pair, "content");
}

TEST_CASE("content: three tensors, or two of a latent layer, are no K and V") {
  Layer layer{attention(16, 1536, 1, 16), {}, 4};
  for (const char* storage : {"a", "b", "c"})
    layer.tensors.push_back(contiguous("bfloat16", {4, 16, 1, 16}, 0, storage));
  check_opaque(layer, "content");
  layer.tensors.pop_back();
  layer.spec = attention(16, 1024, 1, 16, {}, "MLAAttentionSpec");
  check_opaque(layer, "content");
}

TEST_CASE("content: a latent, in rank 3 and rank 4") {
  const Spec latent =
      attention(16, 4096, 1, 128, {field("head_size_v", std::int64_t{0})}, "MLAAttentionSpec");
  check_content({latent, {contiguous("bfloat16", {4, 16, 128})}, 4}, {Form::latent, 128, 0});
  check_content({latent, {contiguous("bfloat16", {4, 1, 16, 128})}, 4}, {Form::latent, 128, 0});
  // An indexer's bytes are no latent of its head size.
  const Spec indexer = attention(16, 2112, 1, 132, {}, "MLAAttentionSpec");
  check_opaque({indexer, {contiguous("uint8", {4, 16, 132})}, 4}, "content");
}

TEST_CASE("content: what is packed, quantised or stored under another dtype is opaque") {
  const auto layer = [](const char* dtype, std::vector<Attribute> more) {
    const std::int64_t item = find_dtype(dtype)->itemsize;
    return Layer{
        attention(16, 16 * 2 * 64 * item, 2, 32, std::move(more)), {two_heads(dtype, 64)}, 4};
  };
  CHECK_FALSE(shown(layer("bfloat16", {})).opaque);
  CHECK_FALSE(shown(layer("bfloat16", {field("dtype", "bfloat16")})).opaque);
  CHECK_FALSE(shown(layer("float16", {field("dtype", "half")})).opaque);
  CHECK_FALSE(shown(layer("float8_e4m3fn", {field("dtype", "float8_e4m3fn")})).opaque);
  for (const char* mode : {"none", "fp8_per_tensor"})
    CHECK_FALSE(shown(layer("float8_e4m3fn", {field("kv_quant_mode", mode)})).opaque);
  check_opaque(layer("bfloat16", {field("dtype", "float16")}), "content");
  check_opaque(layer("bfloat16", {field("dtype", "acme4")}), "content");
  check_opaque(layer("uint8", {field("dtype", "uint8")}), "content");
  check_opaque(layer("int8", {}), "content");
  for (const char* mode : {"int4_per_token_head", "nvfp4", "turboquant_4bit_nc"})
    check_opaque(layer("float8_e4m3fn", {field("kv_quant_mode", mode)}), "content");
}

TEST_CASE("content: K and V with bytes between that no axis shows are opaque") {
  const Layer layer{attention(16, 1024, 1, 14, {field("page_size_padded", 1024)}),
                    {tensor("bfloat16", {4, 1, 16, 28}, {512, 512, 32, 1})},
                    4};
  check_opaque(layer, "content");
}

TEST_CASE("content: a kind nobody knows is opaque, whatever its shape") {
  check_opaque({attention(16, 4096, 2, 32, {}, "AcmeSpec"), {two_heads("bfloat16", 64)}, 4},
               "content");
}

TEST_CASE("content: recurrent states are opaque") {
  check_opaque({states(16, 1024, {256}), {contiguous("float32", {4, 256})}, 4}, "recurrent");
}
