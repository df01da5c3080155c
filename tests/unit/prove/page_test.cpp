#include "prove/page.hpp"

#include <catch2/catch.hpp>

#include "layers.hpp"
#include "prove/prove.hpp"

using namespace kvedit;
using namespace kvedit::testing;

namespace {

using Parts = std::vector<PartShape>;

ProvedPage proved(const Layer& layer) {
  const auto proof = prove::prove(layer.facts(), nullptr);
  if (const auto* failure = std::get_if<Failure>(&proof)) FAIL(failure->message);
  return std::get<ProvedPage>(proof);
}

Code refused(const Layer& layer) {
  const auto proof = prove::prove(layer.facts(), nullptr);
  REQUIRE(std::holds_alternative<Failure>(proof));
  return std::get<Failure>(proof).code;
}

Spec attention(std::int64_t page, std::vector<Attribute> more = {}) {
  return spec("FullAttentionSpec", 16, page, std::move(more));
}

/// A float32 state in pages of 1,024 bytes, `at` bytes into them.
Tensor state(std::int64_t elements, std::int64_t at) {
  return tensor("float32", {4, elements}, {256, 1}, at / 4);
}

}  // namespace

TEST_CASE("page: a dense block owns its page, and all of it is payload") {
  const ProvedPage page = proved({attention(1024), {contiguous("bfloat16", {4, 2, 16, 16})}, 4});
  CHECK(page.window);
  CHECK(page.blocks == 4);
  CHECK(page.kernel_pages == 1);
  CHECK_FALSE(page.declared);
  CHECK(page.block_bytes == 1024);
  CHECK(page.owned == Parts{{0, 0, 1024, {{0, 1024}}}});
  CHECK(page.payload == page.owned);
}

TEST_CASE("page: padding behind the unpadded page is owned and no payload") {
  const ProvedPage page =
      proved({padded_attention(1024, 1000), {tensor("int8", {4, 1000}, {1024, 1})}, 4});
  CHECK(page.owned == Parts{{0, 0, 1024, {{0, 1024}}}});
  CHECK(page.payload == Parts{{0, 0, 1024, {{0, 1000}}}});
  CHECK(page.block_bytes == 1000);
}

TEST_CASE("page: without an unpadded size what the axes do not show is payload too") {
  const ProvedPage page = proved({attention(1024, {field("page_size_padded", 1024)}),
                                  {tensor("int8", {4, 768}, {1024, 1})},
                                  4});
  CHECK(page.payload == Parts{{0, 0, 1024, {{0, 1024}}}});
}

TEST_CASE("page: a row that covers the states gives just the states") {
  const ProvedPage page =
      proved({states(16, 1024, {200}), {tensor("float32", {4, 256}, {512, 1})}, 4});
  CHECK(page.owned == Parts{{0, 0, 2048, {{0, 1024}}}});
  CHECK(page.payload == Parts{{0, 0, 2048, {{0, 800}}}});
}

TEST_CASE("page: states side by side in a page are one range, states with a gap their own") {
  const ProvedPage together =
      proved({states(16, 1024, {64, 128}), {state(64, 0), state(128, 256)}, 4});
  CHECK(together.window);
  CHECK(together.owned == Parts{{0, 0, 1024, {{0, 1024}}}});
  CHECK(together.payload == Parts{{0, 0, 1024, {{0, 768}}}});

  const ProvedPage apart = proved({states(16, 1024, {64, 64}), {state(64, 0), state(64, 512)}, 4});
  CHECK(apart.owned == Parts{{0, 0, 1024, {{0, 1024}}}});
  CHECK(apart.payload == Parts{{0, 0, 1024, {{0, 256}, {512, 256}}}});
  CHECK(apart.block_bytes == 512);
}

TEST_CASE("page: the window starts at the lowest tensor, whatever the order of registration") {
  const ProvedPage page = proved({states(16, 1024, {64, 128}), {state(64, 512), state(128, 0)}, 4});
  REQUIRE(page.owned.size() == 1);
  CHECK(page.owned[0].tensor == 1);
  CHECK(page.owned[0].offset == 0);
  CHECK(page.payload[0].ranges == std::vector<Range>{{0, 768}});
}

TEST_CASE("page: states of unknown size are what the tensors hold") {
  Layer layer{spec("MambaSpec", 16, 1024), {tensor("float32", {4, 100}, {256, 1})}, 4};
  CHECK(proved(layer).payload == Parts{{0, 0, 1024, {{0, 400}}}});
}

TEST_CASE("page: planes own exactly their two ranges") {
  const ProvedPage page = proved({attention(1024), {contiguous("bfloat16", {2, 4, 16, 2, 8})}, 4});
  CHECK_FALSE(page.window);
  CHECK(page.owned == Parts{{0, 0, 512, {{0, 512}, {2048, 512}}}});
  CHECK(page.payload == page.owned);
  CHECK(page.block_bytes == 1024);
}

TEST_CASE("page: heads outside the blocks own a range each") {
  const Tensor memory = contiguous("bfloat16", {3, 8, 16, 32});
  const Layer layer{attention(3072), {permuted(memory, {1, 0, 2, 3})}, 8, "LHBNC"};
  const std::int64_t head = 8 * 1024;
  CHECK(proved(layer).owned == Parts{{0, 0, 1024, {{0, 1024}, {head, 1024}, {2 * head, 1024}}}});
}

TEST_CASE("page: tensors in storages of their own are parts of their own") {
  const ProvedPage page =
      proved({attention(1024),
              {contiguous("int8", {4, 512}, 0, "a"), tensor("int8", {4, 512}, {600, 1}, 0, "b")},
              4});
  CHECK_FALSE(page.window);
  CHECK(page.owned == Parts{{0, 0, 512, {{0, 512}}}, {1, 0, 600, {{0, 512}}}});
  CHECK(page.block_bytes == 1024);
}

TEST_CASE("page: bytes met twice and blocks that share bytes are overlaps") {
  CHECK(refused({attention(1024), {tensor("int8", {4, 2, 512}, {1024, 256, 1})}, 4}) ==
        Code::overlap);
  CHECK(refused({attention(1024), {tensor("int8", {4, 1024}, {512, 1})}, 4}) == Code::overlap);
  // Each block's own bytes are apart, but the padding of one would be the next one's.
  CHECK(refused({padded_attention(1024, 512), {tensor("int8", {4, 512}, {512, 1})}, 4}) ==
        Code::overlap);
  CHECK(refused({states(16, 1024, {64, 64}), {state(64, 0), state(64, 128)}, 4}) == Code::overlap);
  // K of one block is V of the next.
  CHECK(refused({attention(1024),
                 {tensor("int8", {4, 512}, {512, 1}), tensor("int8", {4, 512}, {512, 1}, 512)},
                 4}) == Code::overlap);
}

TEST_CASE("page: a hundred thousand blocks and strides near 2^61 are no work and no overflow") {
  constexpr std::int64_t far = std::int64_t{1} << 60;
  const ProvedPage many =
      proved({attention(1024), {contiguous("bfloat16", {2, 100000, 16, 2, 8})}, 100000});
  CHECK(many.owned[0].ranges == std::vector<Range>{{0, 512}, {51200000, 512}});
  const ProvedPage wide = proved({attention(1024), {tensor("int8", {2, 1024}, {far, 1})}, 2});
  CHECK(wide.owned == Parts{{0, 0, far, {{0, 1024}}}});
}

TEST_CASE("page: the stride of a lone block is shown as registered") {
  const ProvedPage page = proved({attention(1024), {tensor("int8", {1, 1024}, {5000, 1})}, 1});
  CHECK(page.owned == Parts{{0, 0, 5000, {{0, 1024}}}});
}
