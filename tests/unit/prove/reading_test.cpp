#include "prove/own_reading.hpp"

#include <catch2/catch.hpp>

#include "layers.hpp"
#include "prove/prove.hpp"
#include "prove/sane.hpp"

using namespace kvedit;
using namespace kvedit::testing;

namespace {

struct Found {
  std::vector<std::size_t> axes;
  std::int64_t kernel_pages = 0;
  std::optional<Code> refused;
};

Found read(const Layer& layer, std::int64_t placed = -1) {
  const auto reading = prove::read(layer.facts(placed));
  if (const auto* failure = std::get_if<Failure>(&reading)) {
    CHECK_FALSE(failure->message.empty());
    return {{}, 0, failure->code};
  }
  const auto& found = std::get<prove::Reading>(reading);
  return {found.axes, found.kernel_pages, std::nullopt};
}

void check(const Layer& layer, std::size_t axis, std::int64_t kernel_pages,
           std::int64_t placed = -1) {
  const Found found = read(layer, placed);
  CHECK_FALSE(found.refused);
  CHECK(found.axes == std::vector<std::size_t>(layer.tensors.size(), axis));
  CHECK(found.kernel_pages == kernel_pages);
}

void check_refused(const Layer& layer, Code code, std::int64_t placed = -1) {
  const Found found = read(layer, placed);
  REQUIRE(found.refused);
  CHECK(to_text(*found.refused) == to_text(code));
}

Failure failure_of(const Layer& layer) {
  const auto proof = prove::prove(layer.facts(), nullptr);
  REQUIRE(std::holds_alternative<Failure>(proof));
  return std::get<Failure>(proof);
}

Spec attention(std::int64_t page, std::vector<Attribute> more = {}) {
  return spec("FullAttentionSpec", 16, page, std::move(more));
}

}  // namespace

TEST_CASE("reading: the outermost axis in memory that makes up one page, whatever its position") {
  const Tensor blocks_first = contiguous("bfloat16", {4, 2, 16, 16});
  check({attention(1024), {blocks_first}, 4}, 0, 1);
  check({attention(1024), {permuted(blocks_first, {1, 2, 0, 3})}, 4}, 2, 1);
  // Planes first: a plane of all blocks is no page.
  check({attention(1024), {contiguous("bfloat16", {2, 4, 16, 2, 8})}, 4}, 1, 1);
}

TEST_CASE("reading: kernel pages are counted, and without a rule refused with the numbers") {
  const Layer layer{attention(1024), {contiguous("int8", {8, 512})}, 4};
  check(layer, 0, 2);
  const Failure failure = failure_of(layer);
  CHECK(failure.code == Code::granularity_mismatch);
  for (const char* number : {"512", "1024", "2"})
    CHECK(failure.message.find(number) != std::string::npos);
}

TEST_CASE("reading: two blocks or two planes") {
  const Layer layer{attention(1024), {contiguous("bfloat16", {2, 2, 16, 2, 8})}, 2};
  check_refused(layer, Code::granularity_mismatch);
  check(layer, 0, 1, 1024);  // a placement decides
  check(layer, 1, 1, 512);

  Layer rank4 = layer;
  rank4.tensors = {contiguous("bfloat16", {2, 2, 16, 16})};
  check(rank4, 0, 1);

  Layer tokens_next = layer;  // 8 of the 16 tokens would make up a page as well
  tokens_next.tensors = {contiguous("bfloat16", {2, 16, 2, 2, 8})};
  check_refused(tokens_next, Code::granularity_mismatch);

  Layer no_page_inside = layer;  // the next axis inward, of 3, has no page for each of two blocks
  no_page_inside.tensors = {contiguous("bfloat16", {2, 3, 16, 2, 8})};
  no_page_inside.spec = attention(1536);
  check(no_page_inside, 0, 1);

  Layer three = layer;
  three.blocks = 3;
  three.tensors = {contiguous("bfloat16", {3, 2, 16, 2, 8})};
  check(three, 0, 1);
}

TEST_CASE("reading: one block of two kernel pages is the same bytes either way") {
  check({attention(1024), {contiguous("bfloat16", {2, 2, 8, 2, 8})}, 1}, 0, 2);
}

TEST_CASE("reading: layouts that put heads before blocks") {
  const auto heads_outside = [](std::int64_t heads, std::int64_t blocks, const char* layout) {
    const Tensor memory = contiguous("bfloat16", {heads, blocks, 16, 32});
    return Layer{attention(heads * 1024), {permuted(memory, {1, 0, 2, 3})}, blocks, layout};
  };
  for (const char* layout : {"LHBNC", "BHLNC"}) {
    INFO(layout);
    check_refused(heads_outside(4, 4, layout), Code::granularity_mismatch);
    check_refused(heads_outside(4, 2, layout), Code::granularity_mismatch);
    check(heads_outside(4, 8, layout), 0, 1);
    check(heads_outside(4, 4, layout), 0, 1, 1024);
  }
}

TEST_CASE("reading: one block") {
  check({attention(1024), {contiguous("bfloat16", {1, 1, 16, 32})}, 1}, 0, 1);
  check({attention(1024), {contiguous("int8", {3, 1024})}, 3}, 0, 1);
  check({attention(3072), {contiguous("int8", {3, 1024})}, 1}, 0, 3);
  check_refused({attention(1024), {contiguous("int8", {1, 1024})}, 2}, Code::block_count);
}

TEST_CASE("reading: the stride of a lone entry says nothing") {
  for (const std::int64_t odd : {1, 32, 512, 100000}) {
    const Layer lone{attention(1024), {tensor("bfloat16", {1, 16, 32}, {odd, 32, 1})}, 1};
    INFO("stride " << odd);
    CHECK(read(lone).kernel_pages == 1);
    CHECK(read(lone, 1024).kernel_pages == 1);
  }
}

TEST_CASE("reading: with a placement, the axis whose stride divides the block stride") {
  const Layer shared{attention(1024), {tensor("int8", {4, 1024}, {4096, 1})}, 4};
  check(shared, 0, 1, 4096);
  const Layer paged{attention(1024), {contiguous("int8", {8, 512})}, 4};
  check(paged, 0, 2, 1024);
  const auto odd = read(paged, 768).refused;  // neither a whole number of entries nor a page
  REQUIRE(odd);
  CHECK((odd == Code::placement_mismatch || odd == Code::not_tiled || odd == Code::block_count));
  check_refused(paged, Code::placement_mismatch, 0);
  CHECK(read(paged, 2048).refused);  // four entries are no page
}

TEST_CASE("reading: a tail that no block id reaches is shorter than a block") {
  const auto entries = [](std::int64_t count) {
    return Layer{attention(1024), {contiguous("int8", {count, 512})}, 4};
  };
  check(entries(8), 0, 2);
  check(entries(9), 0, 2);
  check_refused(entries(10), Code::block_count);
  check_refused(entries(7), Code::block_count);
  check_refused({attention(1024), {contiguous("int8", {5, 1024})}, 4}, Code::block_count);
}

TEST_CASE("reading: several tensors have one number of kernel pages") {
  const Tensor half = contiguous("int8", {4, 512}), twice = contiguous("int8", {8, 256});
  check({attention(1024), {half, half}, 4}, 0, 1);
  check({attention(1024), {twice, twice}, 4}, 0, 2);
  const auto other = read({attention(1024), {half, contiguous("int8", {8, 512})}, 4}).refused;
  REQUIRE(other);
  CHECK((other == Code::block_count || other == Code::not_tiled));
}

TEST_CASE("reading: recurrent layers and bare padding count entries over blocks") {
  check({states(16, 1024, {64}), {contiguous("float32", {4, 64})}, 4}, 0, 1);
  check({states(16, 1024, {64}), {contiguous("float32", {8, 32})}, 4}, 0, 2);
  CHECK(read({states(16, 1024, {63}), {contiguous("float32", {9, 63})}, 4}).refused);
  // Fewer bytes than the states, more than the page.
  CHECK(read({states(16, 1024, {64}), {contiguous("float32", {4, 63})}, 4}).refused);
  CHECK(read({states(16, 1024, {64}), {contiguous("float32", {4, 257})}, 4}).refused);

  const Tensor row = tensor("int8", {4, 768}, {1024, 1});
  check({attention(1024, {field("page_size_padded", 1024)}), {row}, 4}, 0, 1);
  check({padded_attention(1024, 768), {tensor("int8", {8, 384}, {512, 1})}, 4}, 0, 2);
}

TEST_CASE("reading: what makes up no page is not tiled, with the nearest and the page") {
  const Layer layer{attention(1001), {contiguous("int8", {4, 1024})}, 4};
  check_refused(layer, Code::not_tiled);
  const Failure failure = failure_of(layer);
  CHECK(failure.message.find("1001") != std::string::npos);
  CHECK(failure.message.find("1024") != std::string::npos);
}

TEST_CASE("reading: states and tokens that agree, or where one does not say") {
  const Tensor good = contiguous("int8", {4, 1024});
  const std::vector<std::vector<Attribute>> agree = {
      {field("num_states", 16), field("tokens_per_state", 1)},
      {field("num_states", 4), field("tokens_per_state", 4)},
      {field("num_states", 64), field("tokens_per_state", "1/4")},
      {field("num_states", 1), field("tokens_per_state", -1)},
      {field("num_states", 3), field("tokens_per_state", 5)},  // whole states of 16 tokens
      {field("num_states", 5)},
  };
  for (const std::vector<Attribute>& fields : agree) {
    const Layer layer{spec("FullAttentionSpec", 16, 1024, fields), {good}, 4};
    CHECK_FALSE(prove::sane(layer.facts()));
  }
}

TEST_CASE("reading: a spec or tensor that means nothing is bad geometry") {
  const Tensor good = contiguous("int8", {4, 1024});
  std::vector<Layer> wrong = {
      {attention(0), {good}, 4},
      {attention(-1024), {good}, 4},
      {spec("FullAttentionSpec", 0, 1024), {good}, 4},
      {padded_attention(1024, 1025), {good}, 4},
      {padded_attention(1024, 0), {good}, 4},
      {states(16, 1024, {257}), {contiguous("float32", {4, 257})}, 4},
      {spec("FullAttentionSpec", 18, 1024, {field("num_states", 16), field("tokens_per_state", 1)}),
       {good},
       4},
      {spec("MLAAttentionSpec", 64, 1024, {field("num_states", 64), field("tokens_per_state", 4)}),
       {good},
       4},
      {attention(1024), {good}, 0},
      {attention(1024), {}, 4},
      {attention(1024), {tensor("int8", {4, 1024}, {1024})}, 4},
      {attention(1024), {tensor("int8", {4, 0}, {1024, 1})}, 4},
      {attention(1024), {tensor("int8", {4, 1024}, {-1024, 1})}, 4},
      {attention(1024), {tensor("int8", {4, 1024}, {1024, 0})}, 4},
      {attention(1024), {tensor("int8", {INT64_MAX, INT64_MAX}, {1024, 1})}, 4},
      {attention(1024), {tensor("float64", {4, 1024}, {INT64_MAX, 1})}, 4},
      {attention(1024), {tensor("int8", {}, {})}, 4},
  };
  for (std::size_t i = 0; i < wrong.size(); ++i) {
    INFO("case " << i);
    CHECK(to_text(failure_of(wrong[i]).code) == "bad-geometry");
  }
}

TEST_CASE("reading: what is nearest is the outermost axis, with its entries") {
  // 40 rows of 1,000 state bytes for 20 blocks in pages of 1,000: two would be a block of 2,000.
  const Failure rows =
      failure_of({states(16, 1000, {250}), {contiguous("float32", {40, 250})}, 20});
  CHECK(to_text(rows.code) == "not-tiled");
  for (const char* part : {"axis 0", "40 entries", "1000 bytes", "2 for each of 20", "2000"})
    CHECK(rows.message.find(part) != std::string::npos);
  const Failure one_short =
      failure_of({states(16, 1000, {250}), {contiguous("float32", {40, 250})}, 41});
  CHECK(to_text(one_short.code) == "block-count");
  CHECK(one_short.message.find("axis 0 has 40 entries") != std::string::npos);
}

TEST_CASE("reading: tensors of which no axes count the same blocks") {
  const Failure failure =
      failure_of({states(16, 124, {1, 30}),
                  {contiguous("float32", {40}), contiguous("float32", {1200}, 0, "s1")},
                  40});
  CHECK(to_text(failure.code) == "block-count");
  INFO(failure.message);
  for (const char* part : {"tensor 1", "1200 entries", "40 blocks", "tensor 0 40"})
    CHECK(failure.message.find(part) != std::string::npos);
}
