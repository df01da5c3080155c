#include "readback/recover.hpp"

#include <catch2/catch.hpp>

using namespace kvedit::readback;

namespace {

using Numbers = std::vector<std::int64_t>;

Dims recovered(const Numbers& shape, const Numbers& stride) {
  const auto dims = recover(shape, stride);
  if (const auto* why = std::get_if<std::string>(&dims)) FAIL(*why);
  return std::get<Dims>(dims);
}

void check(const Numbers& shape, const Numbers& stride, const Numbers& as) {
  const Dims dims = recovered(shape, stride);
  CHECK(dims.shape == as);
  CHECK(dims.contiguous);
}

std::string refused(const Numbers& shape, const Numbers& stride) {
  const auto dims = recover(shape, stride);
  REQUIRE(std::holds_alternative<std::string>(dims));
  return std::get<std::string>(dims);
}

bool has(const std::string& text, const char* words) {
  return text.find(words) != std::string::npos;
}

}  // namespace

// The shapes are those that attempt_permute_to_contiguous_view of LMCache 0.5.6 returns.

TEST_CASE("readback: dense tensors take the shape in which they lie in memory") {
  check({4, 2, 16, 32}, {1024, 512, 32, 1}, {4, 2, 16, 32});
  check({4, 2, 16, 32}, {1024, 32, 64, 1}, {4, 16, 2, 32});
  check({2, 4, 16, 2, 8}, {256, 512, 16, 8, 1}, {4, 2, 16, 2, 8});
}

TEST_CASE("readback: an axis of extent 1 stands where its stride says") {
  check({4, 1, 16, 32}, {512, 512, 32, 1}, {4, 1, 16, 32});
  check({4, 1, 16, 32}, {512, 32, 32, 1}, {4, 16, 1, 32});
  check({4, 16, 1, 32}, {512, 32, 512, 1}, {4, 1, 16, 32});
  // Between those of its neighbours: the shape comes from the strides alone.
  check({4, 1, 16, 32}, {512, 64, 32, 1}, {4, 8, 2, 32});
}

TEST_CASE("readback: a stride that makes no whole shape is refused") {
  CHECK(has(refused({4, 1, 16, 32}, {512, 7, 32, 1}), "2048"));
  CHECK(has(refused({1, 1, 16, 32}, {9999, 512, 32, 1}), "512"));
}

TEST_CASE("readback: gaps between the entries of the outermost axis are kept") {
  const Dims dims = recovered({4, 2, 16, 32}, {5000, 32, 64, 1});
  CHECK(dims.shape == Numbers{4, 16, 2, 32});
  CHECK(dims.stride == Numbers{5000, 64, 32, 1});
  CHECK_FALSE(dims.contiguous);
}

TEST_CASE("readback: gaps anywhere else are refused with both strides") {
  const std::string inner = refused({4, 2, 16, 32}, {5000, 600, 32, 1});
  CHECK(has(inner, "600"));
  CHECK(has(inner, "512"));
  CHECK(has(refused({4, 16, 32}, {512, 32, 2}), "2"));
  CHECK(has(refused({4, 30}, {64, 2}), "2"));
  CHECK(has(refused({4, 32}, {64, 1}), "three"));
  refused({4}, {3});
}

TEST_CASE("readback: blocks that overlap are refused") {
  const std::string why = refused({4, 16, 32}, {500, 32, 1});
  CHECK(has(why, "500"));
  CHECK(has(why, "512"));
}

TEST_CASE("readback: hostile strides end in a refusal") {
  refused({4, 2}, {0, 1});
  refused({4, 2}, {-2, 1});
  refused({-4, 2}, {2, 1});
  refused({0, 2}, {2, 1});
  refused({}, {});
  refused({4, 2}, {1});
  refused({INT64_MAX, INT64_MAX, 2}, {INT64_MAX, 2, 1});
}
