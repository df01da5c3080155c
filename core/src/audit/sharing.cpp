#include "audit/sharing.hpp"

#include "base/runs.hpp"
#include "model/byte_sets.hpp"

namespace kvedit::audit {
namespace {

/// All bytes of a tensor in its storage; nothing when they are too scattered to compare.
std::optional<Ranges> ranges_of(const Tensor& tensor) {
  auto expanded = expand(bytes_of(tensor), tensor.storage_offset * tensor.dtype.itemsize);
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
                   const TensorPlace* places) {
  if (entry.cache < 0) return false;
  const RegistrationData& data = edit.registration.data();
  if (data.caches[static_cast<std::size_t>(entry.cache)].tensors == cache.tensors) return true;
  if (entry.layer_class < 0 || !edit.classes[static_cast<std::size_t>(entry.layer_class)].page)
    return false;
  for (std::size_t t = 0; t < cache.tensors.size(); ++t) {
    const auto used = ranges_of(cache.tensors[t]);
    const auto owned = owned_in(edit, entry, places[t].storage);
    if (!used || !owned || !contains(*owned, *used)) return false;
  }
  return !cache.tensors.empty();
}

}  // namespace

std::optional<std::string_view> shares_with(const Edit& edit, std::int32_t cache) {
  const auto at = static_cast<std::size_t>(cache);
  const Cache& registered = edit.registration.data().caches[at];
  const TensorPlace* places = edit.registration.index().places_of(cache);
  for (const LayerEntry& entry : edit.layers)
    if (entry.group >= 0 && entry.outcome != Outcome::excluded &&
        uses_bytes_of(edit, entry, registered, places))
      return entry.name;
  return std::nullopt;
}

}  // namespace kvedit::audit
