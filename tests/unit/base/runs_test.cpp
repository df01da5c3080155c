#include "base/runs.hpp"

#include <algorithm>
#include <map>

#include <catch2/catch.hpp>

#include "base/dice.hpp"

#include "base/text.hpp"
#include "base/utf8.hpp"

using namespace kvedit;

namespace {

using Count = std::map<std::int64_t, int>;  // byte → how often

Count enumerate(std::int64_t item, const std::vector<Step>& steps, std::int64_t base) {
  Count bytes;
  std::vector<std::int64_t> starts = {base};
  for (const Step& step : steps) {
    std::vector<std::int64_t> more;
    for (const std::int64_t start : starts)
      for (std::int64_t i = 0; i < step.extent; ++i) more.push_back(start + i * step.stride);
    starts = more;
  }
  for (const std::int64_t start : starts)
    for (std::int64_t i = 0; i < item; ++i) ++bytes[start + i];
  return bytes;
}

Count enumerate(const Ranges& ranges) {
  Count bytes;
  for (const Range& range : ranges)
    for (std::int64_t i = 0; i < range.length; ++i) ++bytes[range.offset + i];
  return bytes;
}

bool same_bytes(const Count& a, const Count& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](const auto& x, const auto& y) { return x.first == y.first; });
}

bool some_twice(const Count& bytes) {
  return std::any_of(bytes.begin(), bytes.end(), [](const auto& each) { return each.second > 1; });
}

Strided strided(std::int64_t item, const std::vector<Step>& steps) {
  Strided set(item);
  for (const Step& step : steps) set.add(step);
  set.merge();
  return set;
}

Ranges some_ranges(Dice& dice) {
  Ranges ranges;
  for (std::int64_t i = dice(0, 5); i > 0; --i) ranges.push_back({dice(-20, 20), dice(1, 8)});
  return ranges;
}

}  // namespace

TEST_CASE("runs: dense steps become one run, whatever their order") {
  const Strided set = strided(2, {{4, 32}, {16, 2}});
  CHECK(set.dense());
  CHECK(set.run() == 128);
  CHECK(set == strided(2, {{16, 2}, {4, 32}}));
  CHECK(set == strided(128, {}));
  CHECK(strided(8, {{1, 1000000}}).dense());
}

TEST_CASE("runs: steps with gaps stay, steps that continue each other become one") {
  const Strided set = strided(4, {{3, 16}, {5, 48}});
  CHECK(set.run() == 4);
  REQUIRE(set.steps().size() == 1);
  CHECK(set.steps()[0] == Step{15, 16});
  CHECK(set.span() == 14 * 16 + 4);
  CHECK(set.bytes() == 60);
}

TEST_CASE("runs: span, bytes, nesting and expansion against bytes counted one by one") {
  Dice dice{std::mt19937(20240601)};
  int twice = 0, nested = 0;
  for (int round = 0; round < 3000; ++round) {
    const std::int64_t item = dice(1, 4), base = dice(-50, 50);
    std::vector<Step> steps;
    for (std::int64_t i = dice(0, 4); i > 0; --i) steps.push_back({dice(1, 4), dice(1, 24)});
    const Strided set = strided(item, steps);
    const Count bytes = enumerate(item, steps, base);
    INFO("round " << round);
    const auto expanded = expand(set, base);
    REQUIRE(expanded);
    CHECK(same_bytes(enumerate(expanded->ranges), bytes));
    CHECK_FALSE(some_twice(enumerate(expanded->ranges)));
    CHECK(set.span() == bytes.rbegin()->first - bytes.begin()->first + 1);
    Int128 counted = 0;
    for (const auto& each : bytes) counted += each.second;
    CHECK(set.bytes() == counted);
    CHECK(expanded->twice == some_twice(bytes));
    if (set.nested()) CHECK_FALSE(some_twice(bytes));
    twice += expanded->twice;
    nested += set.nested();
  }
  CHECK(twice > 100);
  CHECK(nested > 100);
}

TEST_CASE("runs: a nested box has one form however its axes are cut") {
  Dice dice{std::mt19937(7)};
  for (int round = 0; round < 500; ++round) {
    const std::int64_t item = dice(1, 4);
    std::vector<Step> steps, cut;
    for (std::int64_t inside = item, i = dice(1, 4); i > 0; --i) {
      const Step step{dice(1, 3) * 2, inside + dice(0, 1) * dice(1, 9)};
      steps.push_back(step);
      cut.push_back({2, step.stride * (step.extent / 2)});
      cut.push_back({step.extent / 2, step.stride});
      inside += (step.extent - 1) * step.stride;
    }
    std::shuffle(cut.begin(), cut.end(), dice.engine);
    INFO("round " << round);
    CHECK(strided(item, steps) == strided(item, cut));
  }
}

TEST_CASE("runs: sets near 2^61 bytes do not overflow, too many runs are not expanded") {
  constexpr std::int64_t far = std::int64_t{1} << 61;
  const Strided set = strided(1, {{2, far - 1}});
  CHECK(set.span() == far);
  const auto expanded = expand(set, far);
  REQUIRE(expanded);
  CHECK(expanded->ranges == Ranges{{far, 1}, {2 * far - 1, 1}});
  CHECK(strided(1, {{far, 1}}).run() == far);
  CHECK(strided(8, {{1 << 20, 16}, {1 << 20, 1 << 24}}).bytes() == Int128{8} << 40);
  CHECK(expand(strided(1, {{256, 2}, {256, 1024}}), 0));
  CHECK_FALSE(expand(strided(1, {{256, 2}, {257, 1024}}), 0));
}

TEST_CASE("runs: normalise and contains against bytes counted one by one") {
  Dice dice{std::mt19937(11)};
  int contained = 0;
  for (int round = 0; round < 3000; ++round) {
    Ranges a = some_ranges(dice), b = some_ranges(dice);
    const Count bytes = enumerate(a), others = enumerate(b);
    INFO("round " << round);
    CHECK(normalise(a) == some_twice(bytes));
    normalise(b);
    CHECK(same_bytes(enumerate(a), bytes));
    CHECK(total(a) == static_cast<std::int64_t>(bytes.size()));
    for (std::size_t i = 1; i < a.size(); ++i)
      CHECK(a[i - 1].offset + a[i - 1].length < a[i].offset);  // also not touching
    const bool inside = std::all_of(others.begin(), others.end(),
                                    [&](const auto& each) { return bytes.count(each.first); });
    CHECK(contains(a, b) == inside);
    contained += inside && !b.empty();
  }
  CHECK(contained > 20);
}

TEST_CASE("text: strings and whole numbers of every size, one after the other") {
  CHECK(text("a ", 1, " ", std::string("b")) == "a 1 b");
  CHECK(text(INT64_MIN) == "-9223372036854775808");
  CHECK(text(UINT64_MAX) == "18446744073709551615");
  CHECK(text(Int128{INT64_MAX} * 4) == "36893488147419103228");
  CHECK(text(-(Int128{1} << 126) - (Int128{1} << 126)) ==
        "-170141183460469231731687303715884105728");
  CHECK(text(Int128{0}) == "0");
}

TEST_CASE("utf8: well-formed sequences only") {
  CHECK(valid_utf8("a\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80"));
  CHECK(valid_utf8(""));
  CHECK(valid_utf8("seven..\xc3\xa9 and more \xe2\x82\xac"));
  for (const char* wrong :
       {"a run of letters\x80", "seven..\xff.......", "\xc0\xaf", "\xe0\x80\xaf", "\xed\xa0\x80",
        "\xf4\x90\x80\x80", "\x80", "\xff", "\xe2\x82", "a\xc3"}) {
    INFO(static_cast<int>(static_cast<unsigned char>(wrong[0])));
    CHECK_FALSE(valid_utf8(wrong));
  }
  CHECK(utf8_sequence("\xe2\x82\xacx") == 3);
  CHECK(utf8_sequence("") == 0);
}
