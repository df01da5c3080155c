#include "base/crossing.hpp"

#include <catch2/catch.hpp>

#include "base/dice.hpp"

using namespace kvedit;

namespace {

bool owns(const Field& field, std::int64_t block, std::int64_t byte) {
  for (const Range& range : field.ranges) {
    const Int128 at = field.base + range.offset + Int128{block} * field.stride;
    if (at <= byte && byte < at + range.length) return true;
  }
  return false;
}

/// Byte by byte: all are within [-40, 260).
bool crosses(const Field& a, const Field& b) {
  for (std::int64_t i = 0; i < a.count; ++i)
    for (std::int64_t j = 0; j < b.count; ++j)
      for (std::int64_t byte = -40; i != j && byte < 260; ++byte)
        if (owns(a, i, byte) && owns(b, j, byte)) return true;
  return false;
}

std::vector<Range> some_ranges(Dice& dice) {
  std::vector<Range> ranges;
  std::int64_t at = 0;
  for (std::int64_t i = dice(1, 3); i > 0; --i) {
    ranges.push_back({at, dice(1, 5)});
    at += ranges.back().length + dice(0, 24);
  }
  return ranges;
}

}  // namespace

TEST_CASE("crossing: different numbers at one byte, against bytes counted one by one") {
  Dice dice{std::mt19937(11)};
  int crossed = 0, certain = 0;
  for (int round = 0; round < 4000; ++round) {
    const std::vector<Range> one = some_ranges(dice), two = some_ranges(dice);
    const std::int64_t stride = dice(1, 30);
    const std::int64_t other = dice(0, 2) == 0 ? dice(1, 30) : stride;
    const Field a{dice(-20, 20), stride, dice(1, 4), one}, b{dice(-20, 20), other, dice(1, 4), two};
    const bool expected = crosses(a, b);
    std::int64_t steps = 10000;
    const Crossing found = cross(a, b, steps);
    INFO("round " << round);
    CHECK(found.meeting == (expected ? Meeting::share : Meeting::apart));
    if (found.meeting == Meeting::share) {
      CHECK(found.block != found.other_block);
      CHECK(owns(a, found.block, static_cast<std::int64_t>(found.byte)));
      CHECK(owns(b, found.other_block, static_cast<std::int64_t>(found.byte)));
      CHECK((found.block >= 0 && found.block < a.count));
      CHECK((found.other_block >= 0 && found.other_block < b.count));
    }
    if (none_crosses(std::vector{a, b})) {
      CHECK_FALSE(expected);
      ++certain;
    }
    crossed += expected;
  }
  CHECK(crossed > 1000);
  CHECK(crossed < 3000);
  CHECK(certain > 200);
}

TEST_CASE("crossing: pages over each other, also in planes, are seen to be alike at once") {
  const std::vector<Range> page = {{0, 64}}, planes = {{0, 64}, {6400, 64}}, small = {{16, 32}};
  const Field whole{0, 64, 100, page}, cut{0, 64, 100, planes}, inner{0, 64, 100, small};
  CHECK(none_crosses(std::vector{whole, whole, inner}));
  CHECK(none_crosses(std::vector{cut, cut}));
  CHECK_FALSE(none_crosses(std::vector{whole, Field{32, 64, 100, page}}));
  CHECK_FALSE(none_crosses(std::vector{whole, Field{0, 128, 50, page}}));
}

TEST_CASE("crossing: places near 2^61 and 2^31 blocks are decided without overflow or steps") {
  constexpr std::int64_t far = std::int64_t{1} << 61, many = std::int64_t{1} << 31;
  const std::vector<Range> page = {{0, 16}};
  std::int64_t steps = 1;  // one pair of ranges
  const Field a{far, 16, many, page};
  CHECK(cross(a, Field{far, 16, many, page}, steps = 1).meeting == Meeting::apart);
  const Crossing found = cross(a, Field{far + 8, 16, many, page}, steps = 1);
  CHECK(found.meeting == Meeting::share);
  CHECK((found.block == 1 && found.other_block == 0 && found.byte == Int128{far} + 16));
  CHECK(none_crosses(std::vector{a, a}));
  CHECK(cross(a, Field{far, 24, many, page}, steps = 1).meeting == Meeting::undecided);
  CHECK(cross(a, Field{far, 24, many, page}, steps = 10).meeting == Meeting::share);
}
