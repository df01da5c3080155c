#include "base/field.hpp"

#include <set>

#include <catch2/catch.hpp>

#include "base/dice.hpp"

using namespace kvedit;

namespace {

using Bytes = std::set<std::int64_t>;

/// The bytes of block `b`.
Bytes bytes_of(const Field& field, std::int64_t b) {
  Bytes bytes;
  for (const Range& range : field.ranges)
    for (std::int64_t i = 0; i < range.length; ++i)
      bytes.insert(static_cast<std::int64_t>(field.base) + range.offset + b * field.stride + i);
  return bytes;
}

bool share(const Bytes& a, const Bytes& b) {
  for (const std::int64_t each : a)
    if (b.count(each)) return true;
  return false;
}

bool share(const Field& a, const Field& b) {
  for (std::int64_t i = 0; i < a.count; ++i)
    for (std::int64_t j = 0; j < b.count; ++j)
      if (share(bytes_of(a, i), bytes_of(b, j))) return true;
  return false;
}

bool shares_itself(const Field& field) {
  for (std::int64_t i = 0; i < field.count; ++i)
    for (std::int64_t j = i + 1; j < field.count; ++j)
      if (share(bytes_of(field, i), bytes_of(field, j))) return true;
  return false;
}

std::vector<Range> some_ranges(Dice& dice, std::int64_t most) {
  std::vector<Range> ranges;
  std::int64_t at = dice(0, 4);
  for (std::int64_t i = dice(1, most); i > 0; --i) {
    ranges.push_back({at, dice(1, 4)});
    at += ranges.back().length + dice(0, 5);
  }
  return ranges;
}

Field some_field(Dice& dice, const std::vector<Range>& ranges) {
  const std::int64_t count = dice(1, 6);
  return {dice(-30, 30), count == 1 ? 0 : dice(1, 24), count, ranges};
}

Meeting expected(bool shares) { return shares ? Meeting::share : Meeting::apart; }

}  // namespace

TEST_CASE("progression: meetings against bytes counted one by one") {
  Dice dice{std::mt19937(3)};
  int met = 0;
  for (int round = 0; round < 5000; ++round) {
    const std::vector<Range> one = {{0, dice(1, 6)}}, two = {{0, dice(1, 6)}};
    const Field a = some_field(dice, one), b = some_field(dice, two);
    const bool shares = share(a, b);
    std::int64_t steps = 1000, none = 0;
    INFO("round " << round);
    CHECK(meet(a.progression(0), b.progression(0), steps) == expected(shares));
    const Meeting hasty = meet(a.progression(0), b.progression(0), none);
    CHECK((hasty == Meeting::undecided || hasty == expected(shares)));
    if (a.stride >= one[0].length || a.count == 1)
      CHECK_FALSE(meets_itself(a.progression(0)));
    else
      CHECK(meets_itself(a.progression(0)));
    met += shares;
  }
  CHECK(met > 500);
  CHECK(met < 4500);
}

TEST_CASE("field: meetings of several ranges against bytes counted one by one") {
  Dice dice{std::mt19937(5)};
  int met = 0, itself = 0;
  for (int round = 0; round < 3000; ++round) {
    const std::vector<Range> one = some_ranges(dice, 3), two = some_ranges(dice, 3);
    const Field a = some_field(dice, one), b = some_field(dice, two);
    std::int64_t steps = 10000;
    INFO("round " << round);
    CHECK(meet(a, b, steps) == expected(share(a, b)));
    CHECK(meets_itself(a, steps) == expected(shares_itself(a)));
    met += share(a, b);
    itself += shares_itself(a);
  }
  CHECK(met > 300);
  CHECK(itself > 300);
}

TEST_CASE("field: what is apart within a stride is apart for any number of blocks") {
  Dice dice{std::mt19937(9)};
  int apart = 0;
  for (int round = 0; round < 3000; ++round) {
    const std::vector<Range> one = some_ranges(dice, 2), two = some_ranges(dice, 2);
    const std::int64_t stride = dice(1, 40);
    const Field fields[] = {{dice(-30, 30), stride, 5, one}, {dice(-30, 30), stride, 5, two}};
    if (!apart_within_stride(fields)) continue;
    ++apart;
    INFO("round " << round);
    CHECK_FALSE(share(fields[0], fields[1]));
    CHECK_FALSE(shares_itself(fields[0]));
    CHECK_FALSE(shares_itself(fields[1]));
  }
  CHECK(apart > 200);
}

TEST_CASE("progression: places near 2^61 and 2^31 terms are decided without overflow") {
  constexpr std::int64_t far = std::int64_t{1} << 61, many = std::int64_t{1} << 31;
  std::int64_t steps = 0;  // none of these may need to look at terms
  const Progression a{far, 8, 16, many};
  CHECK(meet(a, {far + 8, 8, 16, many}, steps) == Meeting::apart);
  CHECK(meet(a, {far + 7, 8, 16, many}, steps) == Meeting::share);
  CHECK(meet(a, {Int128{far} + 16 * Int128{many}, 8, 16, many}, steps) == Meeting::apart);
  CHECK(meet(a, {Int128{far} + 16 * Int128{many} - 9, 8, 0, 1}, steps) == Meeting::share);
  CHECK(meet(a, {Int128{far} + 16 * Int128{many} - 8, 8, 0, 1}, steps) == Meeting::apart);
  CHECK(meet(a, {far + 8, 8, 32, many}, steps) == Meeting::apart);
  CHECK(meet({far, 1, far, 4}, {far + 1, 1, far, 4}, steps) == Meeting::apart);
  CHECK(meet(a, {-far, far, 0, 1}, steps) == Meeting::apart);
}

TEST_CASE("progression: work is bounded, and what was not decided is not called apart") {
  // 7000·i = 11000·j + 1000 first at i = 8, j = 5.
  const Progression a{0, 3, 7000, 1 << 20}, b{1002, 3, 11000, 1 << 20};
  std::int64_t few = 5, enough = 20;
  CHECK(meet(a, b, few) == Meeting::undecided);
  CHECK(meet(a, b, enough) == Meeting::share);
}
