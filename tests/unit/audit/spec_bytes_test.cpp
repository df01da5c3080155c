#include "audit/spec_bytes.hpp"

#include <catch2/catch.hpp>

#include "layers.hpp"
#include "pipeline.hpp"

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

namespace {

/// 8 blocks of 16 tokens, a kernel page of 16 tokens each: 1,024 bytes in a page padded to 4,096.
/// Registered as so many blocks.
std::shared_ptr<const Edit> registered_as(std::int64_t blocks, std::vector<Attribute> more) {
  RegistrationData data;
  data.num_blocks = blocks;
  data.storages.push_back({"s0", 1 << 20, "cpu"});
  data.groups.push_back({});
  more.push_back(field("page_size_padded", 4096));
  data.groups[0].spec = spec("FullAttentionSpec", 16, 4096, std::move(more));
  data.groups[0].layers = {"attn"};
  data.caches.push_back(
      {"attn", {tensor("bfloat16", {8, 2, 16, 16}, {4096 / 2, 256, 16, 1})}, false});
  RuleBook book;
  add_rule(book, "test.pages", [](const LayerFacts& layer) {
    const Tensor& tensor = layer.tensors[0];
    if (tensor.shape[0] == layer.num_blocks) return no_match("one entry is one page");
    Box box{0, 0, 2, {}};
    for (std::size_t a = 0; a < 4; ++a)
      box.axes.push_back(
          {tensor.shape[a], tensor.stride[a] * 2, a == 0 ? Role::block : Role::content});
    return Answer{Verdict::match, "kernel pages", {{box}, false}, {}};
  });
  return run_pipeline(Registration(std::move(data)), {},
                      std::make_shared<const RuleBook>(std::move(book)));
}

}  // namespace

TEST_CASE(
    "spec bytes: too few blocks by a whole factor, where only num_blocks counts the entries") {
  CHECK(registered_as(8, heads())->problems.empty());
  const auto edit = registered_as(4, heads());
  REQUIRE(edit->ok);
  REQUIRE(edit->problems.size() == 1);
  const Problem& problem = edit->problems[0];
  CHECK(problem.severity == Severity::warning);
  CHECK(problem.code == Code::bad_geometry);
  CHECK(problem.facts ==
        std::vector<Fact>{{"spec_bytes", 1024}, {"block_bytes", 2048}, {"num_blocks", 4}});
  CHECK(problem.message.find("2 times the 1024 bytes") != std::string::npos);
  CHECK(problem.message.find("too small") != std::string::npos);
  CHECK(registered_as(4, heads({field("state_content_bytes", 64)}))->problems.empty());
  CHECK(registered_as(4, heads({field("state_content_bytes", 16)}))->problems.size() == 1);
  // Scales may hide behind the visible axes.
  CHECK(registered_as(8, heads({field("state_content_bytes", 64)}))->problems.empty());
}

TEST_CASE("spec bytes: where the spec does not tell, nothing is said of the number of blocks") {
  CHECK(registered_as(4, {})->problems.empty());
  CHECK(registered_as(4, heads({field("kv_quant_mode", "nvfp4")}))->problems.empty());
}
