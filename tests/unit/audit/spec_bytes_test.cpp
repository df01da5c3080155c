#include "audit/spec_bytes.hpp"

#include <catch2/catch.hpp>

#include "layers.hpp"

using namespace kvedit;
using namespace kvedit::testing;

namespace {

/// 2 heads of 8 + 8 bfloat16 elements: 64 bytes a token.
std::vector<Attribute> heads(std::vector<Attribute> more = {}) {
  more.push_back(field("num_kv_heads", 2));
  more.push_back(field("head_size", 8));
  more.push_back(field("dtype", "bfloat16"));
  return more;
}

std::optional<Failure> doubt(const Spec& spec, std::int64_t slots) {
  Layer layer{spec, {contiguous("bfloat16", {4, 2, 16, 16})}, 4};
  LayerFacts facts = layer.facts();
  facts.slots = slots;
  return audit::other_bytes_than_the_spec_makes(facts);
}

}  // namespace

TEST_CASE("spec bytes: heads, head size and dtype make the page, or there is a warning") {
  CHECK_FALSE(doubt(spec("FullAttentionSpec", 16, 1024, heads()), 16));
  const auto half = doubt(spec("FullAttentionSpec", 8, 1024, heads()), 8);
  REQUIRE(half);
  CHECK(half->severity == Severity::warning);
  CHECK(half->facts == std::vector<Fact>{{"spec_bytes", 512}, {"page_bytes", 1024}});
  CHECK(half->message.find("block_size 8") != std::string::npos);
  CHECK(doubt(spec("SlidingWindowSpec", 16, 1024, heads({field("head_size_v", 4)})), 16));
}

TEST_CASE("spec bytes: the unpadded page counts; without one a padded page says nothing") {
  const auto padded = [](std::int64_t unpadded) {
    return spec(
        "FullAttentionSpec", 16, 2048,
        heads({field("page_size_padded", 2048), field("unpadded_page_size_bytes", unpadded)}));
  };
  CHECK_FALSE(doubt(padded(1024), 16));
  CHECK(doubt(padded(1536), 16));
  CHECK_FALSE(
      doubt(spec("FullAttentionSpec", 16, 2048, heads({field("page_size_padded", 2048)})), 16));
}

TEST_CASE("spec bytes: packed, quantised and other classes have formulas of their own") {
  CHECK_FALSE(
      doubt(spec("FullAttentionSpec", 16, 999, heads({field("kv_quant_mode", "nvfp4")})), 16));
  CHECK_FALSE(
      doubt(spec("FullAttentionSpec", 16, 999, heads({field("state_content_bytes", 20)})), 16));
  CHECK_FALSE(doubt(spec("TQFullAttentionSpec", 16, 999, heads()), 16));
  CHECK_FALSE(doubt(spec("FullAttentionSpec", 16, 999), 16));
  CHECK_FALSE(doubt(spec("FullAttentionSpec", 16, 999,
                         {field("num_kv_heads", INT64_MAX), field("head_size", INT64_MAX),
                          field("dtype", "bfloat16")}),
                    16));
}
