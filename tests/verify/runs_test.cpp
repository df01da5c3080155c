#include "verify/runs.hpp"

#include <set>
#include <utility>

#include <catch2/catch.hpp>

#include "reference/dice.hpp"
#include "verify/elements.hpp"

namespace kvedit::verify {
namespace {

using Bytes = std::set<std::pair<std::int32_t, std::int64_t>>;

Bytes bytes_of(const Runs& runs) {
  Bytes bytes;
  for (const Run& run : runs)
    for (std::int64_t at = run.begin; at < run.end(); ++at) bytes.insert({run.storage, at});
  return bytes;
}

Runs any_runs(reference::Dice& dice) {
  Runs runs;
  for (std::int64_t i = dice.between(0, 6); i > 0; --i)
    runs.push_back(
        {static_cast<std::int32_t>(dice.between(0, 1)), dice.between(0, 30), dice.between(1, 6)});
  return runs;
}

}  // namespace

TEST_CASE("sets of runs agree with sets of bytes") {
  reference::Dice dice(4);
  for (int i = 0; i < 3000; ++i) {
    Runs a = any_runs(dice);
    Runs b = any_runs(dice);
    const Bytes bytes_a = bytes_of(a);
    const Bytes bytes_b = bytes_of(b);
    const std::int64_t listed = total(a);
    CHECK(make_set(a) == (listed != static_cast<std::int64_t>(bytes_a.size())));
    make_set(b);
    CHECK(bytes_of(a) == bytes_a);
    for (std::size_t r = 1; r < a.size(); ++r)
      CHECK((a[r - 1].storage < a[r].storage || a[r - 1].end() < a[r].begin));
    std::int64_t common = 0;
    for (const auto& byte : bytes_b) common += bytes_a.contains(byte) ? 1 : 0;
    CHECK(shared(a, b) == common);
    CHECK(contains(a, b) == (common == static_cast<std::int64_t>(bytes_b.size())));
  }
}

TEST_CASE("bytes are paired in the order of their runs, however these are cut") {
  const Runs from = {{0, 100, 10}, {0, 0, 6}};
  const Runs to = {{1, 50, 4}, {1, 70, 12}};
  std::vector<std::pair<std::int64_t, std::int64_t>> pairs;
  for (const Copy& copy : pair_up(from, to)) {
    CHECK(copy.from.length == copy.to.length);
    for (std::int64_t i = 0; i < copy.from.length; ++i)
      pairs.emplace_back(copy.from.begin + i, copy.to.begin + i);
  }
  REQUIRE(pairs.size() == 16);
  for (std::int64_t i = 0; i < 16; ++i) {
    CHECK(pairs[static_cast<std::size_t>(i)].first == (i < 10 ? 100 + i : i - 10));
    CHECK(pairs[static_cast<std::size_t>(i)].second == (i < 4 ? 50 + i : 70 + i - 4));
  }
}

TEST_CASE("entries of a tensor are walked element by element, outermost in memory first") {
  // Two planes of three blocks of two heads of four tokens; tokens outside heads in memory.
  const std::vector<std::int64_t> shape = {2, 3, 2, 4};
  const std::vector<std::int64_t> stride = {100, 16, 1, 2};
  const Elements tensor = {shape, stride, 4, 7, 5};
  Runs runs;
  tensor.append_entries(1, 2, 1, runs);
  Runs expected;
  for (std::int64_t kv = 0; kv < 2; ++kv)
    for (std::int64_t token = 0; token < 4; ++token)
      for (std::int64_t head = 0; head < 2; ++head)
        append(expected, {5, 4 * (7 + kv * 100 + 2 * 16 + head + token * 2), 4});
  CHECK(runs == expected);
  CHECK(tensor.entry_bytes(1) == 2 * 2 * 4 * 4);
  CHECK(total(runs) == tensor.entry_bytes(1));
  CHECK(tensor.step(0) == 400);

  Runs last;  // the last axis carries the blocks
  tensor.append_entries(3, 1, 2, last);
  Runs by_hand;
  for (std::int64_t token = 1; token < 3; ++token)
    for (std::int64_t kv = 0; kv < 2; ++kv)
      for (std::int64_t block = 0; block < 3; ++block)
        for (std::int64_t head = 0; head < 2; ++head)
          append(by_hand, {5, 4 * (7 + kv * 100 + block * 16 + head + token * 2), 4});
  CHECK(last == by_hand);
}

}  // namespace kvedit::verify
