#include <algorithm>
#include <string_view>
#include <unordered_map>

#include <kvedit/registration.hpp>

#include "model/index.hpp"
#include "model/layer_facts.hpp"

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

struct PlaceOf {
  std::int32_t placement;
  std::int64_t place_in;
};

std::unordered_map<std::string_view, PlaceOf> index_placements(const RegistrationData& data) {
  std::unordered_map<std::string_view, PlaceOf> places;
  for (std::size_t p = 0; p < data.placements.size(); ++p) {
    const std::vector<std::string>& layers = data.placements[p].layers;
    for (std::size_t l = 0; l < layers.size(); ++l)
      places.emplace(layers[l],
                     PlaceOf{static_cast<std::int32_t>(p), static_cast<std::int64_t>(l)});
  }
  return places;
}

const Spec& leaf_of(const Group& group, const std::string& layer) {
  const auto leaf = group.layer_specs.find(layer);
  return leaf == group.layer_specs.end() ? group.spec : leaf->second;
}

void index_layers(const RegistrationData& data, const Numbering& caches, RegistrationIndex& index) {
  const auto places = index_placements(data);
  SpecPool specs;
  Numbering layers(index.repeated);
  std::vector<bool> grouped(data.caches.size(), false);
  for (std::size_t g = 0; g < data.groups.size(); ++g) {
    index.group_begin.push_back(index.layers.size());
    for (const std::string& name : data.groups[g].layers) {
      layers.add(name);
      LayerRef ref;
      ref.name = &name;
      ref.spec = specs.intern(leaf_of(data.groups[g], name));
      ref.group = static_cast<std::int32_t>(g);
      ref.cache = caches.find(name);
      if (ref.cache >= 0) grouped[static_cast<std::size_t>(ref.cache)] = true;
      if (const auto place = places.find(name); place != places.end()) {
        ref.placement = place->second.placement;
        ref.place_in = place->second.place_in;
      }
      index.layers.push_back(ref);
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

  index->storage_of.reserve(data.caches.size());
  for (const Cache& cache : data.caches) {
    std::vector<std::int32_t>& row = index->storage_of.emplace_back();
    for (const Tensor& tensor : cache.tensors) row.push_back(storages.find(tensor.storage));
  }
  index->alike_cache = alike_caches(data.caches);
  index->alike_group = alike_groups(data.groups);
  index_layers(data, caches, *index);
  return index;
}

}  // namespace

Registration::Registration(RegistrationData data)
    : data_(std::make_shared<const RegistrationData>(std::move(data))),
      index_(make_index(*data_)) {}

Int128 placed_at(const RegistrationData& data, const LayerRef& layer) {
  const Placement& placement = data.placements[static_cast<std::size_t>(layer.placement)];
  return placement.offset + static_cast<Int128>(layer.place_in) * placement.layer_stride;
}

}  // namespace kvedit
