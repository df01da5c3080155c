#include "audit/head_order.hpp"

#include <catch2/catch.hpp>

#include "layers.hpp"
#include "model/backends.hpp"
#include "pipeline.hpp"

using namespace kvedit;
using namespace kvedit::testing;

namespace {

/// 4 blocks of `tokens` tokens of `heads` heads of 16 bfloat16, K beside V of 8 each.
RegistrationData attention(std::int64_t heads, std::int64_t tokens, bool heads_first,
                           const char* layout) {
  RegistrationData data;
  data.num_blocks = 4;
  data.layout = layout;
  data.storages.push_back({"s0", 1 << 20, "cpu"});
  data.groups.push_back({});
  data.groups[0].layers = {"attn"};
  data.groups[0].spec =
      spec("FullAttentionSpec", tokens, heads * tokens * 32,
           {field("num_kv_heads", heads), field("head_size", 8), field("dtype", "bfloat16")});
  Tensor cache = contiguous("bfloat16", {4, heads, tokens, 16});
  if (!heads_first) cache.stride = {heads * tokens * 16, 16, heads * 16, 1};
  data.caches.push_back({"attn", {cache}, false});
  return data;
}

std::vector<Problem> problems(const RegistrationData& data) {
  const auto edit = run_pipeline(Registration(data), {}, std::make_shared<const RuleBook>());
  CHECK(edit->ok);
  return edit->problems;
}

std::string only_warning(const RegistrationData& data) {
  const std::vector<Problem> found = problems(data);
  REQUIRE(found.size() == 1);
  CHECK(found[0].severity == Severity::warning);
  CHECK(found[0].code == Code::bad_geometry);
  return found[0].message;
}

bool has(const std::string& text, const char* part) { return text.find(part) != std::string::npos; }

}  // namespace

TEST_CASE("head order: strides that contradict the layout are told with both") {
  const std::string tokens_first = only_warning(attention(2, 16, true, "NHD"));
  CHECK(has(tokens_first, "layout NHD puts tokens outside heads"));
  CHECK(has(tokens_first, "2 heads every 512 bytes, 16 tokens every 32"));
  const std::string heads_first = only_warning(attention(2, 16, false, "LBHNC"));
  CHECK(has(heads_first, "layout LBHNC puts heads outside tokens"));
  CHECK(has(heads_first, "2 heads every 32 bytes, 16 tokens every 64"));
}

TEST_CASE("head order: strides that agree, or cannot tell, say nothing") {
  for (const char* layout : {"HND", "LBHNC", "BLHNC"})
    CHECK(problems(attention(2, 16, true, layout)).empty());
  for (const char* layout : {"NHD", "LBNHC", "BLNHC"})
    CHECK(problems(attention(2, 16, false, layout)).empty());
  CHECK(problems(attention(2, 16, true, "")).empty());
  CHECK(problems(attention(1, 16, true, "NHD")).empty());
  CHECK(problems(attention(16, 16, true, "NHD")).empty());
}

TEST_CASE("a layer that is wrong is not hidden behind a warning of its class") {
  RegistrationData data = attention(2, 16, true, "NHD");
  data.groups[0].spec =
      spec("FullAttentionSpec", 16, 1040,
           {field("num_kv_heads", 2), field("head_size", 8), field("dtype", "bfloat16"),
            field("page_size_padded", 1040), field("unpadded_page_size_bytes", 1024)});
  data.caches[0].tensors[0].stride[0] = 520;
  data.groups[0].layers.push_back("short");
  data.caches.push_back({"short", data.caches[0].tensors, false});
  data.caches[1].tensors[0].storage = "s1";
  data.storages.push_back({"s1", 4 * 1040 - 1, "cpu"});  // the tensor fits, its last page does not
  const Result result(run_pipeline(Registration(data), {}, std::make_shared<const RuleBook>()));
  CHECK_FALSE(result.ok());
  CHECK(result.layer(1).outcome() == Outcome::failed);
  REQUIRE(result.problems().size() == 2);
  CHECK(result.problems()[0].severity == Severity::error);
  CHECK(result.problems()[0].layer == "short");
  CHECK(result.problems()[1].severity == Severity::warning);
}

TEST_CASE("private order: known by class or name of the backend") {
  CHECK(has_private_order("vllm.v1.attention.backends.cpu_attn.CPUAttentionBackend"));
  CHECK(has_private_order("CPU_ATTN"));
  for (const char* other : {"", "FLASH_ATTN", "cpu_attn.CPUAttentionBackend.Other",
                            "vllm.v1.attention.backends.flash_attn.FlashAttentionBackend"})
    CHECK_FALSE(has_private_order(other));
}

TEST_CASE("private order: heads are named and what lies in them is not") {
  RegistrationData data = attention(2, 16, true, "HND");
  data.groups[0].layers.push_back("other");
  data.caches.push_back({"other", {contiguous("bfloat16", {4, 2, 16, 16})}, false});
  data.storages.push_back({"s1", 1 << 20, "cpu"});
  data.caches[1].tensors[0].storage = "s1";
  data.backends["attn"] = "CPU_ATTN";
  const Result result(run_pipeline(Registration(data), {}, std::make_shared<const RuleBook>()));
  REQUIRE(result.ok());
  const LayerResult own = result.layer(0), plain = result.layer(1);
  CHECK(own.opaque_because() == "backend");
  CHECK(own.pages()->opaque);
  CHECK_FALSE(own.content());
  CHECK(plain.opaque_because().empty());
  CHECK(plain.content());
  const std::vector<Role> named(own.view(0).axes.begin(), own.view(0).axes.end());
  CHECK(named == std::vector{Role::block, Role::head, Role::opaque, Role::opaque});
  CHECK(plain.view(0).axes[2] == Role::token);
  CHECK(own.pages()->block_bytes == plain.pages()->block_bytes);
  CHECK(
      std::equal(own.view(0).shape.begin(), own.view(0).shape.end(), plain.view(0).shape.begin()));
}
