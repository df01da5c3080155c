#include "audit/apart.hpp"

#include <vector>

#include "audit/owners.hpp"

namespace kvedit::audit {
namespace {

Stretch stretch_of(const Owner& owner) {
  return {static_cast<std::int64_t>(owner.field.begin()),
          static_cast<std::int64_t>(owner.field.end())};
}

Shared shared_by(const Owner& layer, const Owner& other, bool decided) {
  return {layer.layer, other.layer, decided, layer.storage, stretch_of(layer), stretch_of(other)};
}

std::optional<Shared> shared_in(const std::vector<Owner>& owners, std::int64_t& steps) {
  if (apart_within_stride(fields_of(owners))) return std::nullopt;
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
                             std::int64_t& steps, Overlays* overlays) {
  const std::vector<Span> spans = spans_of(edit, layers);
  for (std::span<const Span> rest = spans; !rest.empty();) {
    const std::span<const Span> cluster = first_cluster(rest);
    if (overlays) overlays->add(cluster);
    if (cluster.size() > 1)
      if (auto found = shared_in(owners_of(edit, cluster), steps)) return found;
    rest = rest.subspan(cluster.size());
  }
  if (overlays) overlays->end_group();
  return std::nullopt;
}

}  // namespace kvedit::audit
