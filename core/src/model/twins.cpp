#include "model/twins.hpp"

#include <algorithm>
#include <bit>
#include <map>
#include <optional>
#include <utility>

namespace kvedit {
namespace {

/// Equal keys: the same spec and tensors; with a placement behind them also the same placement.
using Key = std::vector<std::int64_t>;

enum class Where { anywhere, unplaced, placed };

Key key_of(const RegistrationData& data, const RegistrationIndex& index, const LayerRef& layer,
           Where where) {
  const auto cache = static_cast<std::size_t>(layer.cache);
  Key key{std::bit_cast<std::int64_t>(layer.spec), index.alike_cache[cache]};
  const std::vector<Tensor>& tensors = data.caches[cache].tensors;
  for (std::size_t t = 0; t < tensors.size(); ++t) {
    key.push_back(index.places_of(layer.cache)[t].storage);
    key.push_back(tensors[t].storage_offset);
  }
  key.push_back(static_cast<std::int64_t>(where));
  if (where != Where::placed) return key;
  const Placement& placement = data.placements[static_cast<std::size_t>(layer.placement)];
  key.push_back(layer.placed_storage);
  key.push_back(static_cast<std::int64_t>(layer.placed_at >> 64));
  key.push_back(static_cast<std::int64_t>(layer.placed_at));
  key.push_back(placement.block_stride);
  return key;
}

class Earlier {
 public:
  Earlier(const RegistrationData& data, const RegistrationIndex& index)
      : data_(data), index_(index) {}

  /// The first that is not placed elsewhere, or nothing.
  std::optional<std::size_t> like(const LayerRef& layer) const {
    if (layer.placement < 0) return at(layer, Where::anywhere);
    const auto placed = at(layer, Where::placed), unplaced = at(layer, Where::unplaced);
    if (!placed || !unplaced) return placed ? placed : unplaced;
    return std::min(*placed, *unplaced);
  }

  void add(const LayerRef& layer, std::size_t number) {
    const Where where = layer.placement < 0 ? Where::unplaced : Where::placed;
    first_.emplace(key_of(data_, index_, layer, where), number);
    first_.emplace(key_of(data_, index_, layer, Where::anywhere), number);
  }

 private:
  std::optional<std::size_t> at(const LayerRef& layer, Where where) const {
    const auto found = first_.find(key_of(data_, index_, layer, where));
    if (found == first_.end()) return std::nullopt;
    return found->second;
  }

  const RegistrationData& data_;
  const RegistrationIndex& index_;
  std::map<Key, std::size_t> first_;
};

/// Twins have their first tensor at one place.
bool all_begin_apart(const RegistrationData& data, std::size_t group,
                     const RegistrationIndex& index) {
  std::vector<std::pair<std::int32_t, std::int64_t>> begins;
  begins.reserve(index.group_begin[group + 1] - index.group_begin[group]);
  for (std::size_t l = index.group_begin[group]; l < index.group_begin[group + 1]; ++l) {
    const std::int32_t cache = index.layers[l].cache;
    if (cache < 0) continue;
    const std::vector<Tensor>& tensors = data.caches[static_cast<std::size_t>(cache)].tensors;
    if (!tensors.empty())
      begins.emplace_back(index.places_of(cache)->storage, tensors.front().storage_offset);
  }
  std::sort(begins.begin(), begins.end());
  return std::adjacent_find(begins.begin(), begins.end()) == begins.end();
}

}  // namespace

void find_twins(const RegistrationData& data, std::size_t group, RegistrationIndex& index) {
  if (all_begin_apart(data, group, index)) return;
  Earlier earlier(data, index);
  for (std::size_t l = index.group_begin[group]; l < index.group_begin[group + 1]; ++l) {
    LayerRef& layer = index.layers[l];
    if (layer.cache < 0 || !layer.spec->has_layer_views) continue;
    if (data.caches[static_cast<std::size_t>(layer.cache)].tensors.empty()) continue;
    const auto twin = earlier.like(layer);
    if (!twin)
      earlier.add(layer, l);
    else if (*index.layers[*twin].name != *layer.name)
      layer.twin = static_cast<std::int32_t>(*twin);
  }
}

}  // namespace kvedit
