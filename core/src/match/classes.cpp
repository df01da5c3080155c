#include "match/classes.hpp"

namespace kvedit::match {

std::int32_t Classes::classify(const LayerFacts& facts, std::int64_t placed_stride) {
  const Key key(facts.spec, facts.tensors.data(), facts.group, facts.num_blocks, placed_stride);
  if (last_class_ >= 0 && key == last_) return last_class_;
  const auto next = static_cast<std::int32_t>(classes_.size());
  const auto [known, added] = known_.emplace(key, next);
  if (added) {
    LayerClass& of = classes_.emplace_back();
    of.facts = facts;
    of.placed_stride = placed_stride;
  }
  last_ = key;
  return last_class_ = known->second;
}

}  // namespace kvedit::match
