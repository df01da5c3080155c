#include "verify/moves.hpp"

#include <algorithm>
#include <set>

#include <catch2/catch.hpp>

namespace kvedit::verify {
namespace {

using Ids = std::set<std::int64_t>;

Ids all_ids(const Move& move) {
  Ids ids(move.from.begin(), move.from.end());
  ids.insert(move.to.begin(), move.to.end());
  return ids;
}

}  // namespace

TEST_CASE("blocks come back under ids that no moved block has") {
  for (std::int64_t blocks = 2; blocks < 40; ++blocks)
    for (std::size_t pairs = 1; pairs < 25; ++pairs) {
      Ids taken;
      const Move move = choose_blocks(blocks, pairs, 3, taken);
      CHECK(move.from.size() == move.to.size());
      CHECK(move.pairs() == std::min(pairs, static_cast<std::size_t>(blocks / 2)));
      const Ids ids = all_ids(move);
      CHECK(ids.size() == 2 * move.pairs());
      CHECK(*ids.begin() >= 0);
      CHECK(*ids.rbegin() < blocks);
      CHECK(ids == taken);
    }
}

TEST_CASE("first, last and middle take part, then others by seed") {
  Ids taken;
  const Move move = choose_blocks(1000, 4, 1, taken);
  CHECK(std::vector<std::int64_t>(move.from.begin(), move.from.begin() + 3) ==
        std::vector<std::int64_t>{0, 999, 500});
  CHECK(move.to[0] == 1);
  CHECK(move.to[1] == 998);
  Ids again;
  CHECK(choose_blocks(1000, 4, 1, again).from == move.from);
  Ids other;
  CHECK(choose_blocks(1000, 4, 2, other).from != move.from);
}

TEST_CASE("a single block comes back under its own id, and has no scattered one") {
  Ids taken;
  const Move move = choose_blocks(1, 4, 1, taken);
  CHECK(move.from == std::vector<std::int64_t>{0});
  CHECK(move.to == move.from);
  Ids none;
  CHECK(scatter_blocks(1, 1, 1, none).from.empty());
}

TEST_CASE("groups that move together get neighbouring ids, before and behind") {
  Ids taken;
  std::vector<Move> moves;
  for (std::size_t group = 0; group < 3; ++group)
    moves.push_back(neighbouring_blocks(100, group, 3, taken));
  using List = std::vector<std::int64_t>;
  CHECK((moves[0].from == List{0} && moves[0].to == List{3}));
  CHECK((moves[1].from == List{1} && moves[1].to == List{4}));
  CHECK((moves[2].from == List{2} && moves[2].to == List{5}));
  Ids few;
  std::size_t pairs = 0;
  for (std::size_t group = 0; group < 3; ++group)
    pairs += neighbouring_blocks(4, group, 3, few).pairs();
  CHECK(pairs == 2);
  CHECK(few == Ids{0, 1, 2, 3});
  CHECK(neighbouring_blocks(1, 0, 2, few).from.empty());
}

TEST_CASE("groups get ids that others do not have, until there are none left") {
  Ids taken;
  std::size_t pairs = 0;
  for (std::uint64_t group = 0; group < 8; ++group) {
    const Ids before = taken;
    const Move move = scatter_blocks(10, 1, group, taken);
    for (const std::int64_t id : all_ids(move)) CHECK_FALSE(before.contains(id));
    pairs += move.pairs();
  }
  CHECK(pairs == 5);
  CHECK(taken.size() == 10);
}

TEST_CASE("ids beside the moved ones are touched, as far as there are any") {
  const Move move = {{0, 9}, {1, 5}};
  CHECK(move.touched(10) == Ids{0, 1, 2, 4, 5, 6, 8, 9});
}

}  // namespace kvedit::verify
