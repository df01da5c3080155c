#include <algorithm>
#include <string_view>
#include <unordered_map>

#include <kvedit/registration.hpp>

#include "model/index.hpp"
#include "model/layer_facts.hpp"
#include "model/twins.hpp"

namespace kvedit {
namespace {

using Names = std::unordered_map<std::string_view, std::int32_t>;

/// Numbers named things; names seen before go to `repeated` and keep their first number.
class Numbering {
 public:
  explicit Numbering(std::vector<const std::string*>& repeated) : repeated_(repeated) {}

  void add(const std::string& name) {
    const auto number = static_cast<std::int32_t>(count_++);
    if (!numbers_.emplace(name, number).second) repeated_.push_back(&name);
  }
  std::int32_t find(std::string_view name) const {
    const auto found = numbers_.find(name);
    return found == numbers_.end() ? -1 : found->second;
  }

 private:
  Names numbers_;
  std::size_t count_ = 0;
  std::vector<const std::string*>& repeated_;
};

/// Gives equal specs one address, so that comparing layers compares pointers.
class SpecPool {
 public:
  const Spec* intern(const Spec& spec) {
    const auto key = static_cast<std::size_t>(spec.page_size_bytes) * 31 +
                     static_cast<std::size_t>(spec.block_size) + spec.attributes.size();
    auto [first, last] = pool_.equal_range(key);
    for (; first != last; ++first)
      if (*first->second == spec) return first->second;
    pool_.emplace(key, &spec);
    return &spec;
  }

 private:
  std::unordered_multimap<std::size_t, const Spec*> pool_;
};

struct PlacedLayer {
  std::int32_t placement;
  std::int64_t place_in;  // position in the placement's layers
};

std::unordered_map<std::string_view, PlacedLayer> index_placements(const RegistrationData& data) {
  std::unordered_map<std::string_view, PlacedLayer> placed;
  for (std::size_t p = 0; p < data.placements.size(); ++p) {
    const std::vector<std::string>& layers = data.placements[p].layers;
    for (std::size_t l = 0; l < layers.size(); ++l)
      placed.emplace(layers[l],
                     PlacedLayer{static_cast<std::int32_t>(p), static_cast<std::int64_t>(l)});
  }
  return placed;
}

void set_placement(const RegistrationData& data, const Numbering& storages,
                   const PlacedLayer& placed, LayerRef& layer) {
  const Placement& placement = data.placements[static_cast<std::size_t>(placed.placement)];
  layer.placement = placed.placement;
  layer.placed_storage = storages.find(placement.storage);
  layer.placed_at =
      placement.offset + static_cast<Int128>(placed.place_in) * placement.layer_stride;
}

TensorPlace place_of(const Tensor& tensor, const Numbering& storages) {
  TensorPlace place;
  place.storage = storages.find(tensor.storage);
  std::int64_t begin = 0;
  if (tensor.storage_offset >= 0 && tensor.dtype.itemsize > 0 &&
      !__builtin_mul_overflow(tensor.storage_offset,
                              static_cast<std::int64_t>(tensor.dtype.itemsize), &begin) &&
      begin <= farthest)
    place.begin = begin;
  return place;
}

const Spec& leaf_of(const Group& group, const std::string& layer) {
  const auto leaf = group.layer_specs.find(layer);
  return leaf == group.layer_specs.end() ? group.spec : leaf->second;
}

void index_layers(const RegistrationData& data, const Numbering& caches, const Numbering& storages,
                  RegistrationIndex& index) {
  const auto placed = index_placements(data);
  SpecPool specs;
  Numbering layers(index.repeated);
  std::vector<bool> grouped(data.caches.size(), false);
  for (std::size_t g = 0; g < data.groups.size(); ++g) {
    index.group_begin.push_back(index.layers.size());
    for (const std::string& name : data.groups[g].layers) {
      layers.add(name);
      LayerRef& ref = index.layers.emplace_back();
      ref.name = &name;
      ref.spec = specs.intern(leaf_of(data.groups[g], name));
      ref.group = static_cast<std::int32_t>(g);
      ref.cache = caches.find(name);
      if (ref.cache >= 0) grouped[static_cast<std::size_t>(ref.cache)] = true;
      if (const auto place = placed.find(name); place != placed.end())
        set_placement(data, storages, place->second, ref);
    }
  }
  index.group_begin.push_back(index.layers.size());
  for (std::size_t c = 0; c < data.caches.size(); ++c)
    if (!grouped[c] && caches.find(data.caches[c].layer) == static_cast<std::int32_t>(c))
      index.ungrouped.push_back(static_cast<std::int32_t>(c));
}

std::vector<std::int32_t> alike_caches(const std::vector<Cache>& caches) {
  std::vector<std::int32_t> first(caches.size());
  std::unordered_multimap<std::uint64_t, std::int32_t> known;
  for (std::size_t c = 0; c < caches.size(); ++c) {
    first[c] = static_cast<std::int32_t>(c);
    const std::uint64_t hash = hash_alike(caches[c].tensors);
    const auto [begin, end] = known.equal_range(hash);
    const auto found = std::find_if(begin, end, [&](const auto& each) {
      return alike(caches[static_cast<std::size_t>(each.second)].tensors, caches[c].tensors);
    });
    if (found != end)
      first[c] = found->second;
    else
      known.emplace(hash, first[c]);
  }
  return first;
}

std::vector<std::int32_t> alike_groups(const std::vector<Group>& groups) {
  std::vector<std::int32_t> first;
  std::vector<std::int32_t> distinct;
  for (std::size_t g = 0; g < groups.size(); ++g) {
    const auto found = std::find_if(distinct.begin(), distinct.end(), [&](std::int32_t d) {
      return same_flags(groups[static_cast<std::size_t>(d)], groups[g]);
    });
    first.push_back(found == distinct.end() ? static_cast<std::int32_t>(g) : *found);
    if (found == distinct.end()) distinct.push_back(first.back());
  }
  return first;
}

std::shared_ptr<const RegistrationIndex> make_index(const RegistrationData& data) {
  auto index = std::make_shared<RegistrationIndex>();
  Numbering storages(index->repeated);
  for (const Storage& storage : data.storages) storages.add(storage.name);
  Numbering caches(index->repeated);
  for (const Cache& cache : data.caches) caches.add(cache.layer);

  for (const Cache& cache : data.caches) {
    index->place_begin.push_back(index->places.size());
    for (const Tensor& tensor : cache.tensors) index->places.push_back(place_of(tensor, storages));
  }
  index->alike_cache = alike_caches(data.caches);
  index->alike_group = alike_groups(data.groups);
  index_layers(data, caches, storages, *index);
  for (std::size_t g = 0; g < data.groups.size(); ++g) find_twins(data, g, *index);
  return index;
}

}  // namespace

Registration::Registration(RegistrationData data)
    : data_(std::make_shared<const RegistrationData>(std::move(data))),
      index_(make_index(*data_)) {}

}  // namespace kvedit
