#include "audit/owners.hpp"

#include <algorithm>

#include "model/index.hpp"

namespace kvedit::audit {
namespace {

const ProvedPage& page_of(const Edit& edit, std::size_t layer) {
  return *edit.classes[static_cast<std::size_t>(edit.layers[layer].layer_class)].page;
}

void add_spans(const Edit& edit, std::size_t layer, std::vector<Span>& spans) {
  const TensorPlace* places = edit.registration.index().places_of(edit.layers[layer].cache);
  const ProvedPage& page = page_of(edit, layer);
  for (std::size_t i = 0; i < page.reaches.size(); ++i) {
    const Reach& reach = page.reaches[i];
    const std::int64_t at = places[reach.tensor].begin;
    const std::int64_t stride = page.owned[i].block_stride;
    spans.push_back({places[reach.tensor].storage, at + reach.begin, at + reach.end, layer, stride,
                     at + reach.end - (page.blocks - 1) * stride});
  }
}

}  // namespace

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

std::span<const Span> first_cluster(std::span<const Span> spans) {
  std::size_t last = 1;
  std::int64_t end = spans[0].end;
  while (last < spans.size() && spans[last].storage == spans[0].storage && spans[last].begin < end)
    end = std::max(end, spans[last++].end);
  return spans.first(last);
}

std::vector<Owner> owners_of(const Edit& edit, std::span<const Span> cluster) {
  std::vector<Owner> owners;
  std::vector<std::size_t> seen;
  for (const Span& span : cluster) {
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

std::vector<Field> fields_of(std::span<const Owner> owners) {
  std::vector<Field> fields;
  fields.reserve(owners.size());
  for (const Owner& owner : owners) fields.push_back(owner.field);
  return fields;
}

}  // namespace kvedit::audit
