#include <algorithm>

#include <kvedit/result.hpp>

#include "model/edit.hpp"
#include "model/index.hpp"

namespace kvedit {
namespace {

/// What the layers own of one storage, grown layer by layer.
struct OwnedSpan {
  std::int64_t begin = INT64_MAX;
  std::int64_t end = 0;
  std::vector<std::size_t> layers;

  void add(std::size_t layer, std::int64_t from, std::int64_t to) {
    begin = std::min(begin, from);
    end = std::max(end, to);
    if (layers.empty() || layers.back() != layer) layers.push_back(layer);
  }
};

void add_layer(const Edit& edit, std::size_t layer, std::vector<OwnedSpan>& extents) {
  const LayerEntry& entry = edit.layers[layer];
  if (entry.outcome == Outcome::excluded) return;
  const TensorPlace* places = edit.registration.index().places_of(entry.cache);
  const ProvedPage& page = *edit.classes[static_cast<std::size_t>(entry.layer_class)].page;
  for (const Reach& reach : page.reaches) {
    const TensorPlace& place = places[reach.tensor];
    extents[static_cast<std::size_t>(place.storage)].add(layer, place.begin + reach.begin,
                                                         place.begin + reach.end);
  }
}

}  // namespace

std::vector<Allocation> Result::allocations() const {
  std::vector<Allocation> all;
  if (!edit_->ok) return all;
  std::vector<OwnedSpan> extents(edit_->registration.data().storages.size());
  for (std::size_t l = 0; l < edit_->layers.size(); ++l) add_layer(*edit_, l, extents);
  for (std::size_t s = 0; s < extents.size(); ++s) {
    OwnedSpan& each = extents[s];
    if (!each.layers.empty())
      all.push_back({static_cast<std::int32_t>(s), each.begin, each.end - each.begin,
                     std::move(each.layers)});
  }
  return all;
}

}  // namespace kvedit
