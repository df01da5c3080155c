#include "model/elements.hpp"

#include <catch2/catch.hpp>

#include "layers.hpp"

using namespace kvedit;
using namespace kvedit::testing;

namespace {

/// 8 + 8 elements of 2 bytes for each head and state.
Spec attention(std::vector<Attribute> more, const char* dtype = "bfloat16") {
  more.push_back(field("num_kv_heads", 2));
  more.push_back(field("head_size", 8));
  more.push_back(field("dtype", dtype));
  return spec("FullAttentionSpec", 16, 1024, std::move(more));
}

bool plain(std::vector<Attribute> more) { return plain_elements(attention(std::move(more))); }

}  // namespace

TEST_CASE("elements: one scale for a whole tensor lies elsewhere, others lie beside the numbers") {
  CHECK(plain({}));
  CHECK(plain({field("kv_quant_mode", "none")}));
  CHECK(plain({field("kv_quant_mode", "NONE")}));
  CHECK(plain({field("kv_quant_mode", std::int64_t{0})}));
  CHECK(plain({field("kv_quant_mode", "fp8_per_tensor")}));
  CHECK(plain({{"kv_quant_mode", Value()}}));
  for (const char* mode : {"int8_per_token_head", "int4_per_token_head", "fp8_per_token_head",
                           "nvfp4", "nvfp4_ds_mla", "turboquant_4bit_nc", ""})
    CHECK_FALSE(plain({field("kv_quant_mode", mode)}));
  CHECK_FALSE(plain({field("kv_quant_mode", 2)}));
  CHECK_FALSE(plain({{"kv_quant_mode", Value::of(true)}}));
}

TEST_CASE("elements: packed formats, by name or by the bytes of a state") {
  for (const char* format : {"auto", "bfloat16", "float16", "fp8", "fp8_e4m3", "fp8_e5m2"})
    CHECK(plain({field("cache_dtype_str", format)}));
  for (const char* format : {"fp8_ds_mla", "nvfp4_ds_mla", "nvfp4", "turboquant_4bit_nc"})
    CHECK_FALSE(plain({field("cache_dtype_str", format)}));
  CHECK(plain({field("tq_slot_size", std::int64_t{0})}));
  CHECK_FALSE(plain({field("tq_slot_size", 68)}));
  for (const char* name : {"state_content_bytes", "state_content_size_bytes"}) {
    CHECK(plain({field(name, 32)}));
    CHECK(plain({{name, Value()}}));
    CHECK_FALSE(plain({field(name, 34)}));
  }
}

TEST_CASE("elements: bytes of K and V of a head, or of a latent") {
  CHECK(content_bytes(attention({})) == 32);
  CHECK(content_bytes(attention({field("head_size_v", 4)})) == 24);
  CHECK(content_bytes(attention({}, "uint8")) == 16);
  CHECK_FALSE(content_bytes(attention({}, "of nobody")));
  CHECK(content_bytes(spec("MLAAttentionSpec", 16, 1024,
                           {field("head_size", 576), field("dtype", "bfloat16")})) == 1152);
  CHECK_FALSE(content_bytes(spec("FullAttentionSpec", 16, 1024)));
  CHECK(content_bytes(spec("FullAttentionSpec", 16, 1024,
                           {field("head_size", INT64_MAX), field("dtype", "bfloat16")})) ==
        INT64_MAX);
}
