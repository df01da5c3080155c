#include "prove/plan.hpp"

#include <catch2/catch.hpp>

#include "layers.hpp"
#include "prove/prove.hpp"

using namespace kvedit;
using namespace kvedit::testing;

namespace {

Plan plan(std::vector<Axis> axes, bool declared = false, std::int64_t offset = 0,
          std::int64_t item = 1) {
  Box box{0, offset, item, {}};
  for (const Axis& axis : axes) box.axes.push_back(axis);
  return {{box}, declared};
}

Axis blocks(std::int64_t extent, std::int64_t stride) { return {extent, stride, Role::block}; }
Axis pages(std::int64_t extent, std::int64_t stride) { return {extent, stride, Role::kernel_page}; }
Axis content(std::int64_t extent, std::int64_t stride = 1) {
  return {extent, stride, Role::content};
}

/// Entries of 512 bytes, two for each of four blocks of 1,024.
Layer kernel_paged(std::int64_t entries = 8) {
  return {spec("FullAttentionSpec", 16, 1024), {contiguous("int8", {entries, 512})}, 4};
}

/// 1,000 bytes of each page of 1,024 registered; how many of them count is not said.
Layer padded() {
  return {spec("FullAttentionSpec", 16, 1024, {field("page_size_padded", 1024)}),
          {tensor("int8", {4, 1000}, {1024, 1})},
          4};
}

ProvedPage proved(const Layer& layer, const Plan& plan, std::int64_t placed = -1) {
  const auto proof = prove::prove(layer.facts(placed), &plan);
  if (const auto* failure = std::get_if<Failure>(&proof)) FAIL(failure->message);
  return std::get<ProvedPage>(proof);
}

std::string refused(const Layer& layer, const Plan& plan, std::int64_t placed = -1) {
  const auto proof = prove::prove(layer.facts(placed), &plan);
  if (!std::holds_alternative<Failure>(proof)) return "proved";
  CHECK_FALSE(std::get<Failure>(proof).message.empty());
  return std::string(to_text(std::get<Failure>(proof).code));
}

}  // namespace

TEST_CASE("plan: kernel pages in a row, counted by the host or given as an axis") {
  const Plan plans[] = {plan({blocks(8, 512), content(512)}),
                        plan({blocks(4, 1024), pages(2, 512), content(512)}),
                        plan({content(512), pages(2, 512), blocks(4, 1024)})};
  for (const Plan& each : plans) {
    const ProvedPage page = proved(kernel_paged(), each);
    CHECK(page.kernel_pages == 2);
    CHECK(page.window);
    CHECK_FALSE(page.declared);
    CHECK(page.owned == std::vector<PartShape>{{0, 0, 1024, {{0, 1024}}}});
  }
  const ProvedPage page = proved(kernel_paged(), plans[0]);
  REQUIRE(page.boxes.size() == 1);
  REQUIRE(page.boxes[0].axes.size() == 3);
  CHECK(page.boxes[0].axes[0] == blocks(4, 1024));
  CHECK(page.boxes[0].axes[1] == pages(2, 512));
}

TEST_CASE("plan: kernel pages on an axis of the tensor are one entry of the block axis") {
  for (const std::int64_t count : {4, 1}) {
    const Layer grouped{
        spec("FullAttentionSpec", 16, 1024), {contiguous("int8", {count, 2, 512})}, count};
    const ProvedPage page =
        proved(grouped, plan({blocks(count, 1024), pages(2, 512), content(512)}));
    CHECK(page.kernel_pages == 1);
    CHECK_FALSE(page.declared);
    REQUIRE(page.boxes.size() == 1);
    CHECK(page.boxes[0].axes.size() == 3);
    CHECK(page.boxes[0].axes[1].role == Role::kernel_page);
    REQUIRE(page.payload.size() == 1);
    CHECK(page.payload[0].ranges == std::vector<Range>{{0, 1024}});
  }
}

TEST_CASE("plan: what the host reads itself is proved, also when the rule declares it") {
  const ProvedPage page = proved(kernel_paged(), plan({blocks(8, 512), content(512)}, true));
  CHECK_FALSE(page.declared);
}

TEST_CASE("plan: another order is the rule's word, and only when it says so") {
  const std::vector<Axis> striped = {blocks(4, 512), pages(2, 2048), content(512)};
  CHECK(refused(kernel_paged(), plan(striped)) == "outside-page");
  const ProvedPage page = proved(kernel_paged(), plan(striped, true));
  CHECK(page.declared);
  CHECK(page.kernel_pages == 2);
  CHECK_FALSE(page.window);
  CHECK(page.owned == std::vector<PartShape>{{0, 0, 512, {{0, 512}, {2048, 512}}}});
  CHECK(page.payload == page.owned);
}

TEST_CASE("plan: a declared order may leave a tail shorter than a block, no more") {
  const Plan striped = plan({blocks(4, 512), pages(2, 2048), content(512)}, true);
  CHECK(proved(kernel_paged(9), striped).declared);
  CHECK(refused(kernel_paged(10), striped) == "incomplete");
}

TEST_CASE("plan: a plan over the neighbour's page is outside, declared or not") {
  for (const bool declared : {false, true}) {
    INFO(declared);
    const auto shifted = plan({blocks(4, 1024), pages(2, 512), content(512)}, declared, 512);
    CHECK(refused(kernel_paged(), shifted) == "outside-page");
    const auto by_one = plan({blocks(4, 1024), content(1000)}, declared, 25);
    CHECK(refused(padded(), by_one) == "outside-page");
    const auto before = plan({blocks(4, 1024), content(1000)}, declared, -1);
    CHECK(refused(padded(), before) == "outside-page");
  }
}

TEST_CASE("plan: a plan may read its block's own padding, and must read all that is registered") {
  CHECK(proved(padded(), plan({blocks(4, 1024), content(1024)})).window);
  CHECK(refused(padded(), plan({blocks(4, 1024), content(900)})) == "incomplete");
  CHECK(refused(padded(), plan({blocks(4, 1024), content(999)}, false, 1)) == "incomplete");
}

TEST_CASE("plan: a byte in two blocks, or twice in one") {
  const auto shared = plan({blocks(4, 512), pages(2, 512), content(512)}, true);
  CHECK(refused(kernel_paged(), shared) == "overlap");
  const auto twice = plan({blocks(4, 1024), pages(2, 256), content(512)}, true);
  CHECK(refused(kernel_paged(), twice) == "overlap");
}

TEST_CASE("plan: items that do not lie at multiples of their size") {
  const Layer layer{spec("FullAttentionSpec", 16, 1024), {contiguous("bfloat16", {4, 512})}, 4};
  CHECK(proved(layer, plan({blocks(4, 1024), content(512, 2)}, false, 0, 2)).window);
  CHECK(refused(layer, plan({blocks(4, 1024), content(512, 2)}, false, 1, 2)) == "misaligned");
  CHECK(refused(layer, plan({blocks(4, 1023), content(512, 2)}, false, 0, 2)) == "misaligned");
  CHECK(refused(layer, plan({blocks(4, 1024), content(512, 3)}, true, 0, 2)) == "misaligned");
}

TEST_CASE("plan: entries for another number of blocks") {
  CHECK(refused(kernel_paged(), plan({blocks(3, 1024), pages(2, 512), content(512)}, true)) ==
        "block-count");
  CHECK(refused(kernel_paged(), plan({blocks(7, 512), content(512)}, true)) == "block-count");
}

TEST_CASE("plan: blocks of another size than the page") {
  const auto code = refused(kernel_paged(), plan({blocks(4, 1024), content(768)}, true));
  CHECK((code == "not-tiled" || code == "outside-page" || code == "incomplete"));
  CHECK(refused(kernel_paged(), plan({blocks(4, 512), content(512)}, true)) != "proved");
}

TEST_CASE("plan: the placement's stride holds for a plan too") {
  const auto grouped = plan({blocks(4, 1024), pages(2, 512), content(512)});
  CHECK(proved(kernel_paged(), grouped, 1024).kernel_pages == 2);
  CHECK(refused(kernel_paged(), grouped, 2048) == "placement-mismatch");
  const auto striped = plan({blocks(4, 512), pages(2, 2048), content(512)}, true);
  CHECK(refused(kernel_paged(), striped, 1024) == "placement-mismatch");
  CHECK(proved(kernel_paged(), striped, 512).declared);
}

TEST_CASE("plan: numbers that mean nothing are refused, not computed with") {
  constexpr std::int64_t far = INT64_MAX;
  for (const auto& axes : std::vector<std::vector<Axis>>{{blocks(0, 512), content(512)},
                                                         {blocks(4, -512), content(512)},
                                                         {blocks(4, 0), content(1024)},
                                                         {blocks(far, far), content(far)},
                                                         {blocks(4, far), content(1024)}})
    CHECK(refused(kernel_paged(), plan(axes, true)) == "outside-page");
  CHECK(refused(kernel_paged(), plan({blocks(8, 512), content(512)}, true, INT64_MIN)) ==
        "outside-page");
}

TEST_CASE("plan: one box for all tensors of a page") {
  const Layer layer{
      states(16, 1024, {64, 128}),
      {tensor("float32", {4, 64}, {256, 1}), tensor("float32", {4, 128}, {256, 1}, 64)},
      4};
  const ProvedPage page = proved(layer, plan({blocks(4, 1024), content(256, 4)}, false, 0, 4));
  CHECK(page.window);
  CHECK_FALSE(page.declared);
  CHECK(page.payload == std::vector<PartShape>{{0, 0, 1024, {{0, 768}}}});
  CHECK(refused(layer, plan({blocks(4, 1024), content(191, 4)}, false, 0, 4)) != "proved");
}

TEST_CASE("plan: a stray plan is told with its bytes and the block's, or with both strides") {
  const auto message = [](const Plan& plan) {
    const Layer layer = padded();
    const auto proof = prove::prove(layer.facts(), &plan);
    REQUIRE(std::holds_alternative<Failure>(proof));
    return std::get<Failure>(proof).message;
  };
  const std::string by_one = message(plan({blocks(4, 1024), content(1000)}, false, 25));
  CHECK(by_one.find("bytes 25 to 1025 of block 0, which owns 0 to 1024") != std::string::npos);
  const std::string denser = message(plan({blocks(4, 512), content(1000)}));
  CHECK(denser.find("moves 512 bytes from block to block") != std::string::npos);
  CHECK(denser.find("blocks move 1024") != std::string::npos);
}
