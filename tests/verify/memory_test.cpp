#include "verify/memory.hpp"

#include <algorithm>
#include <string>

#include <catch2/catch.hpp>

#include "verify/pattern.hpp"
#include "verify/stage.hpp"

namespace kvedit::verify {
namespace {

Registration with_storages(std::int64_t first, std::int64_t second) {
  RegistrationData data;
  data.storages = {{"s0", first, "cuda:0"}, {"host", second, "cpu"}};
  return Registration(std::move(data));
}

}  // namespace

TEST_CASE("half a terabyte is reserved, and read and written at its ends") {
  constexpr std::int64_t large = std::int64_t{524} << 30;
  const Expected<Memory> memory = Memory::like(with_storages(large, 4096));
  REQUIRE(memory.has_value());
  CHECK(memory->reserved_bytes() == static_cast<std::uint64_t>(large) + 4096);
  const auto bytes = memory->storage(0);
  CHECK(bytes.front() == std::byte{0});
  bytes.back() = std::byte{7};
  CHECK(bytes.back() == std::byte{7});
  CHECK(memory->bases()[0] == reinterpret_cast<std::uintptr_t>(bytes.data()));
  memory->clear();
  CHECK(bytes.back() == std::byte{0});
}

TEST_CASE("what cannot be reserved is said with its bytes; what is not there needs none") {
  const Expected<Memory> memory = Memory::like(with_storages(std::int64_t{1} << 60, 0));
  REQUIRE_FALSE(memory.has_value());
  CHECK(memory.error().text().find("storage s0: 1152921504606846976 bytes") != std::string::npos);
  const Expected<Memory> none = Memory::like(with_storages(0, -1));
  REQUIRE(none.has_value());
  CHECK(none->reserved_bytes() == 0);
}

TEST_CASE("a pattern depends on position and key alone, however it is painted") {
  const Pattern pattern(1, 2);
  std::vector<std::byte> whole(100);
  pattern.paint(whole, 1003);
  for (std::size_t cut = 0; cut <= whole.size(); ++cut) {
    std::vector<std::byte> pieces(100);
    pattern.paint(std::span(pieces).first(cut), 1003);
    pattern.paint(std::span(pieces).subspan(cut), 1003 + cut);
    CHECK(pieces == whole);
  }
  CHECK(pattern.count_right(whole, 1003) == 100);
  CHECK(pattern.count_right(whole, 1011) == 0);
  CHECK(Pattern(1, 3).count_right(whole, 1003) == 0);
  whole[50] ^= std::byte{1};
  CHECK(pattern.count_right(whole, 1003) == 92);
}

TEST_CASE("a stage tells what is as expected from what is not") {
  const Expected<Memory> memory = Memory::like(with_storages(1 << 20, 1 << 20));
  REQUIRE(memory.has_value());
  Expected<Stage> stage = Stage::of(*memory, {{0, 100, 1000}, {1, 64, 64}}, 5);
  REQUIRE(stage.has_value());
  stage->paint();
  CHECK(stage->size() == 1064);
  CHECK(stage->wrong() == 0);

  CHECK(stage->on_stage({0, 100, 1000}));
  for (const Run& off :
       Runs{{0, 99, 2}, {0, 1000, 101}, {1, 100, 64}, {2, 64, 1}, {0, 5000, 1}, {0, 100, -1}})
    CHECK_FALSE(stage->on_stage(off));

  // Block of 80 bytes at 200 is expected at 600, and its own place wiped.
  stage->expect_wiped({0, 200, 80}, true);
  stage->expect({{0, 200, 80}, {0, 600, 80}});
  CHECK(stage->right({0, 600, 80}) == 0);
  CHECK(stage->wrong({0, 200, 80}) > 70);
  const auto from = stage->bytes({0, 200, 80});
  std::copy(from.begin(), from.end(), stage->bytes({0, 600, 80}).begin());
  CHECK(stage->right({0, 600, 80}) == 80);
  stage->wipe({0, 200, 80}, true);
  CHECK(stage->wrong() == 0);

  stage->bytes({1, 70, 1})[0] ^= std::byte{255};
  CHECK(stage->wrong({1, 64, 64}) == 1);
  CHECK(stage->right({1, 64, 64}) == 56);
  CHECK(stage->wrong() == 1);
  stage->accept({1, 64, 64});
  CHECK(stage->wrong() == 0);
}

}  // namespace kvedit::verify
