#include "layer_truth.hpp"

#include <span>
#include <vector>

namespace kvedit::verify {
namespace {

Runs runs_of(std::span<const Part> parts, std::int64_t block) {
  Runs runs;
  for (const Part& part : parts)
    for (const Range& range : part.ranges)
      append(runs,
             {part.storage, part.base + block * part.block_stride + range.offset, range.length});
  return runs;
}

void by_page_map(const LayerResult& layer, LayerTruth& truth) {
  truth.payload = [layer](std::int64_t block) { return runs_of(layer.pages()->parts, block); };
  truth.owned = [layer](std::int64_t block) {
    Runs runs = runs_of(layer.owned(), block);
    make_set(runs);
    return runs;
  };
}

}  // namespace

LayerTruth truth_of(const Facts& facts, const LayerResult& layer) {
  const PageMap pages = *layer.pages();
  LayerTruth truth;
  truth.facts = facts.of(layer.name(), layer.group());
  if (pages.declared) {
    by_page_map(layer, truth);
    return truth;
  }
  truth.plain = PlainReading::find(truth.facts, pages.kernel_pages);
  if (!truth.plain || truth.facts.blocks != pages.blocks) {
    truth.fault = "no axis of its registered tensors has " + std::to_string(truth.facts.blocks) +
                  " blocks of " + std::to_string(pages.kernel_pages) +
                  " entries that make up one page, as the page map says";
    return truth;
  }
  const PlainReading plain = *truth.plain;
  truth.payload = [plain](std::int64_t block) { return plain.payload(block); };
  truth.owned = [plain](std::int64_t block) { return plain.owned(block); };
  return truth;
}

}  // namespace kvedit::verify
