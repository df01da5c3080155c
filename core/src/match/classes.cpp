#include "match/classes.hpp"

namespace kvedit::match {

std::int32_t Classes::classify(const LayerFacts& facts, std::int64_t placed_stride) {
  const std::uint64_t hash = hash_facts(facts);
  const auto [first, last] = by_hash_.equal_range(hash);
  for (auto at = first; at != last; ++at) {
    const LayerClass& known = classes_[static_cast<std::size_t>(at->second)];
    if (known.placed_stride == placed_stride && same_facts(known.facts, facts)) return at->second;
  }
  const auto number = static_cast<std::int32_t>(classes_.size());
  LayerClass& added = classes_.emplace_back();
  added.facts = facts;
  added.placed_stride = placed_stride;
  by_hash_.emplace(hash, number);
  return number;
}

}  // namespace kvedit::match
