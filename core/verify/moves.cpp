#include "moves.hpp"

#include <algorithm>
#include <array>
#include <optional>
#include <utility>

#include "pattern.hpp"

namespace kvedit::verify {
namespace {

class Choice {
 public:
  Choice(std::int64_t blocks, std::uint64_t seed, std::set<std::int64_t>& taken)
      : blocks_(blocks), state_(seed), taken_(taken) {}

  /// `wish`, or the next free id behind it, round the end; nothing when all are taken.
  std::optional<std::int64_t> take(std::int64_t wish) {
    const auto free_from = [&](std::int64_t id) {
      for (auto at = taken_.lower_bound(id); at != taken_.end() && *at == id; ++at) ++id;
      return id;
    };
    std::int64_t id = free_from(wish);
    if (id >= blocks_) id = free_from(0);
    if (id >= blocks_) return std::nullopt;
    taken_.insert(id);
    return id;
  }

  std::int64_t any() {
    state_ = Pattern::mix(state_);
    return static_cast<std::int64_t>(state_ % static_cast<std::uint64_t>(blocks_));
  }

  void pair(std::int64_t wish, Move& move) {
    const std::optional<std::int64_t> from = take(wish);
    if (!from) return;
    const std::int64_t beside = *from + 1 < blocks_ ? *from + 1 : *from - 1;
    come_back(*from, taken_.contains(beside) ? any() : beside, move);
  }

  void pair(std::int64_t wish, std::int64_t other_wish, Move& move) {
    if (const std::optional<std::int64_t> from = take(wish)) come_back(*from, other_wish, move);
  }

 private:
  void come_back(std::int64_t from, std::int64_t wish, Move& move) {
    const std::optional<std::int64_t> to = take(wish);
    if (!to) {
      taken_.erase(from);
      return;
    }
    move.from.push_back(from);
    move.to.push_back(*to);
  }

  std::int64_t blocks_;
  std::uint64_t state_;
  std::set<std::int64_t>& taken_;
};

}  // namespace

std::set<std::int64_t> Move::touched(std::int64_t blocks) const {
  std::set<std::int64_t> ids;
  for (const std::vector<std::int64_t>* list : {&from, &to})
    for (const std::int64_t id : *list)
      for (const std::int64_t near : {id - 1, id, id + 1})
        if (near >= 0 && near < blocks) ids.insert(near);
  return ids;
}

Move choose_blocks(std::int64_t blocks, std::size_t pairs, std::uint64_t seed,
                   std::set<std::int64_t>& taken) {
  if (blocks == 1 && taken.insert(0).second) return {{0}, {0}};
  Move move;
  pairs = std::min(pairs, static_cast<std::size_t>(blocks / 2));
  Choice choice(blocks, seed, taken);
  const std::array<std::int64_t, 3> wishes = {0, blocks - 1, blocks / 2};
  for (std::size_t i = 0; i < pairs; ++i)
    choice.pair(i < wishes.size() ? wishes[i] : choice.any(), move);
  return move;
}

Move neighbouring_blocks(std::int64_t blocks, std::size_t place, std::size_t groups,
                         std::set<std::int64_t>& taken) {
  Move move;
  if (blocks == 1) return move;
  Choice choice(blocks, 0, taken);
  choice.pair(static_cast<std::int64_t>(place), static_cast<std::int64_t>(place + groups), move);
  return move;
}

Move scatter_blocks(std::int64_t blocks, std::size_t pairs, std::uint64_t seed,
                    std::set<std::int64_t>& taken) {
  Move move;
  if (blocks == 1) return move;
  Choice choice(blocks, seed, taken);
  for (std::size_t i = 0; i < pairs; ++i) choice.pair(choice.any(), move);
  return move;
}

}  // namespace kvedit::verify
