#include "audit/sharing.hpp"

#include <algorithm>
#include <tuple>

#include "base/runs.hpp"

namespace kvedit::audit {
namespace {

const Cache& cache_of(const RegistrationData& data, const LayerRef& layer) {
  return data.caches[static_cast<std::size_t>(layer.cache)];
}

bool placed_apart(const RegistrationData& data, const LayerRef& a, const LayerRef& b) {
  if (a.placement < 0 || b.placement < 0) return false;
  const Placement& p = data.placements[static_cast<std::size_t>(a.placement)];
  const Placement& q = data.placements[static_cast<std::size_t>(b.placement)];
  return p.storage != q.storage || p.block_stride != q.block_stride ||
         placed_at(data, a) != placed_at(data, b);
}

/// All bytes of a tensor in its storage; nothing when they are too scattered to compare.
std::optional<Ranges> bytes_of(const Tensor& tensor) {
  const std::int64_t item = tensor.dtype.itemsize;
  Strided all(item);
  for (std::size_t a = 0; a < tensor.shape.size(); ++a)
    all.add({tensor.shape[a], tensor.stride[a] * item});
  all.merge();
  auto expanded = expand(all, tensor.storage_offset * item);
  if (!expanded) return std::nullopt;
  return std::move(expanded->ranges);
}

/// All bytes a layer owns in one storage.
std::optional<Ranges> owned_in(const Edit& edit, const LayerEntry& entry, std::int32_t storage) {
  const ProvedPage& page = *edit.classes[static_cast<std::size_t>(entry.layer_class)].page;
  Ranges owned;
  for (const PartShape& shape : page.owned) {
    const Part part = place(edit, entry, shape);
    if (part.storage != storage) continue;
    for (const Range& range : part.ranges) {
      Strided blocks(range.length);
      blocks.add({page.blocks, part.block_stride});
      blocks.merge();
      const auto expanded = expand(blocks, part.base + range.offset);
      if (!expanded) return std::nullopt;
      owned.insert(owned.end(), expanded->ranges.begin(), expanded->ranges.end());
    }
  }
  normalise(owned);
  return owned;
}

bool uses_bytes_of(const Edit& edit, const LayerEntry& entry, const Cache& cache,
                   const std::vector<std::int32_t>& storages) {
  if (entry.cache < 0) return false;
  const RegistrationData& data = edit.registration.data();
  if (data.caches[static_cast<std::size_t>(entry.cache)].tensors == cache.tensors) return true;
  if (entry.layer_class < 0 || !edit.classes[static_cast<std::size_t>(entry.layer_class)].page)
    return false;
  for (std::size_t t = 0; t < cache.tensors.size(); ++t) {
    const auto used = bytes_of(cache.tensors[t]);
    const auto owned = owned_in(edit, entry, storages[t]);
    if (!used || !owned || !contains(*owned, *used)) return false;
  }
  return !cache.tensors.empty();
}

}  // namespace

std::vector<std::int32_t> twins(const RegistrationData& data, const RegistrationIndex& index,
                                std::size_t group) {
  struct Place {
    std::int32_t storage;
    std::int64_t offset;
    std::size_t layer;
  };
  const std::size_t begin = index.group_begin[group], end = index.group_begin[group + 1];
  std::vector<Place> places;
  places.reserve(end - begin);
  for (std::size_t l = begin; l < end; ++l) {
    const LayerRef& layer = index.layers[l];
    if (layer.cache < 0 || cache_of(data, layer).tensors.empty()) continue;
    places.push_back({index.storage_of[static_cast<std::size_t>(layer.cache)][0],
                      cache_of(data, layer).tensors[0].storage_offset, l});
  }
  const auto before = [](const Place& a, const Place& b) {
    return std::tie(a.storage, a.offset, a.layer) < std::tie(b.storage, b.offset, b.layer);
  };
  if (!std::is_sorted(places.begin(), places.end(), before))
    std::sort(places.begin(), places.end(), before);
  std::vector<std::int32_t> twin(end - begin, -1);
  for (std::size_t first = 0, i = 1; i < places.size(); ++i) {
    if (places[i].storage != places[first].storage || places[i].offset != places[first].offset) {
      first = i;
      continue;
    }
    const LayerRef& layer = index.layers[places[i].layer];
    const LayerRef& earlier = index.layers[places[first].layer];
    if (cache_of(data, layer).tensors == cache_of(data, earlier).tensors &&
        *layer.name != *earlier.name && !placed_apart(data, layer, earlier))
      twin[places[i].layer - begin] = static_cast<std::int32_t>(places[first].layer);
  }
  return twin;
}

std::optional<std::string_view> shares_with(const Edit& edit, std::int32_t cache) {
  const auto at = static_cast<std::size_t>(cache);
  const Cache& registered = edit.registration.data().caches[at];
  const std::vector<std::int32_t>& storages = edit.registration.index().storage_of[at];
  for (const LayerEntry& entry : edit.layers)
    if (entry.group >= 0 && entry.outcome != Outcome::excluded &&
        uses_bytes_of(edit, entry, registered, storages))
      return entry.name;
  return std::nullopt;
}

}  // namespace kvedit::audit
