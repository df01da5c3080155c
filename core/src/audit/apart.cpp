#include "audit/apart.hpp"

#include <algorithm>
#include <vector>

#include "base/field.hpp"
#include "model/index.hpp"

namespace kvedit::audit {
namespace {

/// From where to where a layer owns bytes of a storage.
struct Span {
  std::int32_t storage;
  std::int64_t begin;
  std::int64_t end;
  std::size_t layer;
};

const ProvedPage& page_of(const Edit& edit, std::size_t layer) {
  return *edit.classes[static_cast<std::size_t>(edit.layers[layer].layer_class)].page;
}

void add_spans(const Edit& edit, std::size_t layer, std::vector<Span>& spans) {
  const TensorPlace* places = edit.registration.index().places_of(edit.layers[layer].cache);
  for (const Reach& reach : page_of(edit, layer).reaches) {
    const TensorPlace& place = places[reach.tensor];
    spans.push_back({place.storage, place.begin + reach.begin, place.begin + reach.end, layer});
  }
}

std::vector<Span> spans_of(const Edit& edit, std::span<const std::size_t> layers) {
  std::vector<Span> spans;
  spans.reserve(layers.size());
  for (const std::size_t layer : layers) add_spans(edit, layer, spans);
  const auto before = [](const Span& a, const Span& b) {
    if (a.storage != b.storage) return a.storage < b.storage;
    return a.begin != b.begin ? a.begin < b.begin : a.layer < b.layer;
  };
  // Engines lay layers out in order, mostly.
  if (!std::is_sorted(spans.begin(), spans.end(), before))
    std::sort(spans.begin(), spans.end(), before);
  return spans;
}

struct Owner {
  std::size_t layer;
  std::int32_t storage;
  Field field;
};

/// What the layers of overlapping spans own in the storage of these.
std::vector<Owner> owners_of(const Edit& edit, std::span<const Span> spans) {
  std::vector<Owner> owners;
  std::vector<std::size_t> seen;
  for (const Span& span : spans) {
    if (std::find(seen.begin(), seen.end(), span.layer) != seen.end()) continue;
    seen.push_back(span.layer);
    const ProvedPage& page = page_of(edit, span.layer);
    for (const PartShape& shape : page.owned) {
      const Part part = place(edit, edit.layers[span.layer], shape);
      if (part.storage == span.storage)
        owners.push_back(
            {span.layer, part.storage, {part.base, part.block_stride, page.blocks, part.ranges}});
    }
  }
  return owners;
}

Stretch stretch_of(const Owner& owner) {
  return {static_cast<std::int64_t>(owner.field.begin()),
          static_cast<std::int64_t>(owner.field.end())};
}

Shared shared_by(const Owner& layer, const Owner& other, bool decided) {
  return {layer.layer, other.layer, decided, layer.storage, stretch_of(layer), stretch_of(other)};
}

std::optional<Shared> shared_in(const std::vector<Owner>& owners, std::int64_t& steps) {
  std::vector<Field> fields;
  for (const Owner& owner : owners) fields.push_back(owner.field);
  if (apart_within_stride(fields)) return std::nullopt;
  for (std::size_t i = 0; i < owners.size(); ++i)
    for (std::size_t j = i + 1; j < owners.size(); ++j) {
      if (owners[i].layer == owners[j].layer) continue;  // the proof of its class
      const Meeting meeting = meet(owners[i].field, owners[j].field, steps);
      if (meeting == Meeting::apart) continue;
      const bool later = owners[i].layer > owners[j].layer;
      return shared_by(owners[later ? i : j], owners[later ? j : i], meeting == Meeting::share);
    }
  return std::nullopt;
}

}  // namespace

std::optional<Shared> shared(const Edit& edit, std::span<const std::size_t> layers,
                             std::int64_t& steps) {
  const std::vector<Span> spans = spans_of(edit, layers);
  for (std::size_t first = 0; first < spans.size();) {
    // A cluster: spans that overlap, each with one before it.
    std::size_t last = first + 1;
    std::int64_t end = spans[first].end;
    while (last < spans.size() && spans[last].storage == spans[first].storage &&
           spans[last].begin < end)
      end = std::max(end, spans[last++].end);
    if (last - first > 1)
      if (auto found =
              shared_in(owners_of(edit, std::span(spans).subspan(first, last - first)), steps))
        return found;
    first = last;
  }
  return std::nullopt;
}

}  // namespace kvedit::audit
