#include <algorithm>
#include <bit>
#include <functional>
#include <string_view>
#include <unordered_map>

#include <kvedit/registration.hpp>

#include "model/index.hpp"
#include "model/layer_facts.hpp"
#include "model/twins.hpp"

namespace kvedit {
namespace {

/// Numbers named things from 0 on; a name keeps its first number. Open addressing, at most half
/// full.
class Numbering {
 public:
  explicit Numbering(std::size_t names) : slots_(std::bit_ceil(2 * names + 1)) {}

  static std::size_t hash(std::string_view name) { return std::hash<std::string_view>()(name); }

  /// @return whether the name is new
  bool add(const std::string& name) { return add(name, hash(name)); }
  bool add(const std::string& name, std::size_t hash) {
    Slot& slot = slots_[slot_of(name, hash)];
    const std::int32_t number = count_++;
    if (slot.name) return false;
    slot = {&name, number};
    return true;
  }
  std::int32_t find(std::string_view name) const { return find(name, hash(name)); }
  std::int32_t find(std::string_view name, std::size_t hash) const {
    return slots_[slot_of(name, hash)].number;
  }

 private:
  struct Slot {
    const std::string* name = nullptr;
    std::int32_t number = -1;
  };

  std::size_t slot_of(std::string_view name, std::size_t hash) const {
    std::size_t at = hash & (slots_.size() - 1);
    while (slots_[at].name && *slots_[at].name != name) at = (at + 1) & (slots_.size() - 1);
    return at;
  }

  std::vector<Slot> slots_;
  std::int32_t count_ = 0;
};

/// Of all `things`; names seen before go to `repeated`.
template <class Thing>
Numbering numbered(const std::vector<Thing>& things, std::string Thing::*name,
                   std::vector<const std::string*>& repeated) {
  Numbering numbering(things.size());
  for (const Thing& each : things)
    if (!numbering.add(each.*name)) repeated.push_back(&(each.*name));
  return numbering;
}

/// Gives equal specs one address, so that comparing layers compares pointers.
class SpecPool {
 public:
  const Spec* intern(const Spec& spec) {
    if (&spec != last_) {
      last_ = &spec;
      found_ = find(spec);
    }
    return found_;
  }

 private:
  const Spec* find(const Spec& spec) {
    const auto key = static_cast<std::size_t>(spec.page_size_bytes) * 31 +
                     static_cast<std::size_t>(spec.block_size) + spec.attributes.size();
    auto [first, last] = pool_.equal_range(key);
    for (; first != last; ++first)
      if (*first->second == spec) return first->second;
    pool_.emplace(key, &spec);
    return &spec;
  }

  std::unordered_multimap<std::size_t, const Spec*> pool_;
  const Spec* last_ = nullptr;
  const Spec* found_ = nullptr;
};

struct PlacedLayer {
  std::int32_t placement;
  std::int64_t place_in;  // position in the placement's layers
};

/// The first placement of each layer.
class PlacedLayers {
 public:
  explicit PlacedLayers(const std::vector<Placement>& placements) : names_(count(placements)) {
    for (std::size_t p = 0; p < placements.size(); ++p)
      for (std::size_t l = 0; l < placements[p].layers.size(); ++l) {
        names_.add(placements[p].layers[l]);
        layers_.push_back({static_cast<std::int32_t>(p), static_cast<std::int64_t>(l)});
      }
  }

  const PlacedLayer* find(const std::string& layer, std::size_t hash) const {
    if (layers_.empty()) return nullptr;
    const std::int32_t number = names_.find(layer, hash);
    return number < 0 ? nullptr : &layers_[static_cast<std::size_t>(number)];
  }

 private:
  static std::size_t count(const std::vector<Placement>& placements) {
    std::size_t layers = 0;
    for (const Placement& placement : placements) layers += placement.layers.size();
    return layers;
  }

  Numbering names_;
  std::vector<PlacedLayer> layers_;
};

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
  const PlacedLayers placed(data.placements);
  SpecPool specs;
  std::size_t count = 0;
  for (const Group& group : data.groups) count += group.layers.size();
  index.layers.reserve(count);
  Numbering layers(count);
  std::vector<bool> grouped(data.caches.size(), false);
  for (std::size_t g = 0; g < data.groups.size(); ++g) {
    index.group_begin.push_back(index.layers.size());
    for (const std::string& name : data.groups[g].layers) {
      const std::size_t hash = Numbering::hash(name);
      if (!layers.add(name, hash)) index.repeated.push_back(&name);
      LayerRef& ref = index.layers.emplace_back();
      ref.name = &name;
      ref.spec = specs.intern(leaf_of(data.groups[g], name));
      ref.group = static_cast<std::int32_t>(g);
      ref.cache = caches.find(name, hash);
      if (ref.cache >= 0) grouped[static_cast<std::size_t>(ref.cache)] = true;
      if (const PlacedLayer* place = placed.find(name, hash))
        set_placement(data, storages, *place, ref);
    }
  }
  index.group_begin.push_back(index.layers.size());
  for (std::size_t c = 0; c < data.caches.size(); ++c)
    if (!grouped[c] && caches.find(data.caches[c].layer) == static_cast<std::int32_t>(c))
      index.ungrouped.push_back(static_cast<std::int32_t>(c));
}

std::vector<std::int32_t> alike_caches(const std::vector<Cache>& caches) {
  std::vector<std::int32_t> first(caches.size());
  std::unordered_multimap<std::uint64_t, std::int32_t> known;  // the first of their kinds: few
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
  const Numbering storages = numbered(data.storages, &Storage::name, index->repeated);
  const Numbering caches = numbered(data.caches, &Cache::layer, index->repeated);
  index->place_begin.reserve(data.caches.size());
  index->places.reserve(data.caches.size());
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
