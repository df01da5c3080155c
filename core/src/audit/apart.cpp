#include "audit/apart.hpp"

#include <algorithm>

#include "base/field.hpp"

namespace kvedit::audit {
namespace {

struct Owner {
  std::int32_t storage;
  std::size_t layer;
  Field field;
};

std::vector<Owner> owners_of(const Edit& edit, const std::vector<std::size_t>& layers) {
  std::vector<Owner> owners;
  owners.reserve(layers.size());
  for (const std::size_t layer : layers) {
    const LayerEntry& entry = edit.layers[layer];
    const ProvedPage& page = *edit.classes[static_cast<std::size_t>(entry.layer_class)].page;
    for (const PartShape& shape : page.owned) {
      const Part part = place(edit, entry, shape);
      owners.push_back(
          {part.storage, layer, {part.base, part.block_stride, page.blocks, part.ranges}});
    }
  }
  const auto before = [](const Owner& a, const Owner& b) {
    if (a.storage != b.storage) return a.storage < b.storage;
    if (a.field.begin() != b.field.begin()) return a.field.begin() < b.field.begin();
    return a.layer < b.layer;
  };
  // Engines lay layers out in order, mostly.
  if (!std::is_sorted(owners.begin(), owners.end(), before))
    std::sort(owners.begin(), owners.end(), before);
  return owners;
}

std::optional<Shared> shared_in(std::span<const Owner> cluster, std::int64_t& steps) {
  std::vector<Field> fields;
  for (const Owner& owner : cluster) fields.push_back(owner.field);
  if (apart_within_stride(fields)) return std::nullopt;
  for (std::size_t i = 0; i < cluster.size(); ++i)
    for (std::size_t j = i + 1; j < cluster.size(); ++j) {
      if (cluster[i].layer == cluster[j].layer) continue;  // the proof of its class
      const Meeting meeting = meet(cluster[i].field, cluster[j].field, steps);
      if (meeting != Meeting::apart)
        return Shared{std::max(cluster[i].layer, cluster[j].layer),
                      std::min(cluster[i].layer, cluster[j].layer), meeting == Meeting::share};
    }
  return std::nullopt;
}

}  // namespace

std::optional<Shared> shared(const Edit& edit, const std::vector<std::size_t>& layers,
                             std::int64_t& steps) {
  const std::vector<Owner> owners = owners_of(edit, layers);
  for (std::size_t first = 0; first < owners.size();) {
    // A cluster: owners whose spans overlap, each with one before it.
    std::size_t last = first + 1;
    Int128 end = owners[first].field.end();
    while (last < owners.size() && owners[last].storage == owners[first].storage &&
           owners[last].field.begin() < end)
      end = std::max(end, owners[last++].field.end());
    if (last - first > 1)
      if (auto found = shared_in(std::span(owners).subspan(first, last - first), steps))
        return found;
    first = last;
  }
  return std::nullopt;
}

}  // namespace kvedit::audit
