#include "naive.hpp"

#include <algorithm>

namespace kvedit::verify {
namespace {

std::int64_t entry_bytes(const LayerTruth& truth) {
  std::int64_t bytes = 0;
  for (const Elements& tensor : truth.facts.tensors) bytes += tensor.entry_bytes(0);
  return bytes;
}

}  // namespace

bool can_be_tried(const LayerTruth& truth, const Move& move) {
  if (truth.facts.blocks < 2) return false;
  for (const std::vector<std::int64_t>* ids : {&move.from, &move.to})
    for (const Elements& tensor : truth.facts.tensors)
      if (*std::max_element(ids->begin(), ids->end()) >= tensor.shape[0]) return false;
  return entry_bytes(truth) <= truth.facts.spec->page_size_bytes;
}

Runs entry_of(const LayerTruth& truth, std::int64_t block) {
  Runs runs;
  for (const Elements& tensor : truth.facts.tensors) tensor.append_entries(0, block, 1, runs);
  return runs;
}

NaiveReading naive_reading(const LayerTruth& truth, const Move& move) {
  NaiveReading naive;
  naive.is_block = truth.plain && truth.plain->indexed_by_block();
  naive.tried = can_be_tried(truth, move);
  naive.entries = truth.facts.tensors.front().shape[0];
  naive.entry_bytes = entry_bytes(truth);
  return naive;
}

}  // namespace kvedit::verify
