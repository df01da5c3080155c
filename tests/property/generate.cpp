#include "generate.hpp"

#include <algorithm>

#include "layouts.hpp"
#include "reference/damage.hpp"
#include "reference/dice.hpp"

namespace kvedit::property {
namespace {

using reference::Dice;
using reference::Target;

/// Where the layers of a group lie. Groups of a registration overlay each other.
enum class Arena { own_storages, layers_outside, layers_inside };

std::string name_of(std::size_t group, std::size_t layer) {
  return "layers." + std::to_string(group) + "." + std::to_string(layer);
}

void provide_storage(RegistrationData& data, const std::string& name, std::int64_t bytes) {
  for (Storage& storage : data.storages)
    if (storage.name == name) {
      storage.nbytes = std::max(storage.nbytes, bytes);
      return;
    }
  data.storages.push_back({name, bytes, "cpu"});
}

/// Puts the layer's tensors `bytes` further into the storage; false where a dtype cannot lie there.
bool move_by(LayerLayout& layout, const std::string& storage, std::int64_t bytes) {
  for (Tensor& tensor : layout.tensors) {
    if (bytes % tensor.dtype.itemsize != 0) return false;
    tensor.storage = storage;
    tensor.storage_offset += bytes / tensor.dtype.itemsize;
  }
  return true;
}

std::int64_t room_for(const LayerLayout& layout, std::int64_t blocks) {
  const std::int64_t windows = layout.block_step * (blocks - 1) + layout.page;
  return (std::max(span_of(layout.tensors), windows) + 7) / 8 * 8;
}

class Builder {
 public:
  explicit Builder(std::uint64_t seed) : dice_(seed) {}

  Case build() {
    frame_.blocks = dice_.percent(4) ? 1 : dice_.between(2, 7);
    case_.data.num_blocks = frame_.blocks;
    if (dice_.percent(15)) case_.data.parallel.dcp = 2;
    const auto groups = static_cast<std::size_t>(dice_.percent(60) ? 1 : dice_.between(2, 3));
    for (std::size_t group = 0; group < groups; ++group) add_group(group);
    if (!layout_.empty() && dice_.percent(90)) case_.data.layout = layout_;
    if (dice_.percent(8)) add_sharer();
    for (Storage& storage : case_.data.storages)
      if (dice_.percent(20)) storage.nbytes += dice_.between(1, 64);
    return std::move(case_);
  }

 private:
  void add_group(std::size_t index) {
    Arena arena = static_cast<Arena>(dice_.between(0, 2));
    const auto layers = static_cast<std::size_t>(dice_.between(1, 3));
    frame_.layers_inside = arena == Arena::layers_inside ? static_cast<std::int64_t>(layers) : 1;
    LayerLayout layout =
        dice_.percent(30) ? recurrent_layout(dice_, frame_) : attention_layout(dice_, frame_);
    if (arena == Arena::layers_inside && !layout.inside) arena = Arena::layers_outside;
    if (layout_.empty()) layout_ = layout.layout;
    case_.story += layout.family + "; ";
    if (dice_.percent(5)) layout.spec.push_back({"prefix_cacheable", Value::of(false)});
    if (dice_.percent(4)) layout.spec.push_back({"has_layer_views", Value::of(false)});
    Group group;
    group.spec = *make_spec(layout.type, {"KVCacheSpec"}, layout.spec);
    group.enable_kv_transfer = !dice_.percent(5);
    for (std::size_t i = 0; i < layers; ++i) group.layers.push_back(name_of(index, i));
    case_.data.groups.push_back(group);
    for (std::size_t i = 0; i < layers; ++i) place_layer(arena, index, i, layout);
    if (layout.placeable && dice_.percent(45)) add_placement(arena, index, layout);
    if (dice_.percent(4)) add_twin(index);
  }

  std::int64_t step_of(Arena arena, const LayerLayout& layout) const {
    if (arena == Arena::own_storages) return 0;
    return arena == Arena::layers_inside ? layout.page : room_for(layout, frame_.blocks);
  }

  void place_layer(Arena arena, std::size_t group, std::size_t layer, const LayerLayout& layout) {
    const bool own = arena == Arena::own_storages;
    const std::string storage = own ? "own" + std::to_string(group) + std::to_string(layer) : "s0";
    LayerLayout placed = layout;
    std::int64_t start = step_of(arena, layout) * static_cast<std::int64_t>(layer);
    if (!move_by(placed, storage, start)) return;  // leaves the cache missing
    provide_storage(case_.data, storage, start + room_for(layout, frame_.blocks));
    case_.data.caches.push_back({name_of(group, layer), placed.tensors, placed.is_list});
  }

  void add_placement(Arena arena, std::size_t group, const LayerLayout& layout) {
    const std::vector<std::string>& layers = case_.data.groups[group].layers;
    if (arena == Arena::own_storages) {
      for (std::size_t i = 0; i < layers.size(); ++i)
        case_.data.placements.push_back({"own" + std::to_string(group) + std::to_string(i),
                                         {layers[i]},
                                         0,
                                         0,
                                         layout.block_step});
      return;
    }
    case_.data.placements.push_back({"s0", layers, 0, step_of(arena, layout), layout.block_step});
  }

  /// A layer of the group that registers the same tensors as an earlier one.
  void add_twin(std::size_t group) {
    Group& of = case_.data.groups[group];
    const Cache* first = reference::cache_of(case_.data, of.layers.front());
    if (first == nullptr) return;
    Cache twin = *first;
    twin.layer = of.layers.front() + ".twin";
    of.layers.push_back(twin.layer);
    for (Placement& placement : case_.data.placements)
      if (!placement.layers.empty() && placement.layers.front() == of.layers.front()) {
        Placement again = placement;
        again.layers = {twin.layer};
        case_.data.placements.push_back(std::move(again));
        break;
      }
    case_.data.caches.push_back(std::move(twin));
    case_.story += "twin; ";
  }

  /// A cache of no group over the bytes of a grouped one.
  void add_sharer() {
    if (case_.data.caches.empty()) return;
    Cache sharer = dice_.pick(case_.data.caches);
    sharer.layer = "sharer";
    case_.data.caches.push_back(std::move(sharer));
    case_.story += "sharer; ";
  }

  Dice dice_;
  Frame frame_;
  Case case_;
  std::string layout_;
};

std::optional<Target> some_target(Dice& dice, RegistrationData& data) {
  Target target;
  target.group = dice.index(data.groups.size());
  target.layer = dice.index(data.groups[target.group].layers.size());
  const Cache* cache = reference::cache_of(data, data.groups[target.group].layers[target.layer]);
  if (cache == nullptr || cache->tensors.empty()) return std::nullopt;
  target.tensor = dice.index(cache->tensors.size());
  if (cache->tensors[target.tensor].shape.empty()) return std::nullopt;
  target.axis = dice.index(cache->tensors[target.tensor].shape.size());
  return target;
}

/// What a careless writer makes of a number: past the end it starts again.
std::int64_t times(std::int64_t value, std::uint64_t factor) {
  return static_cast<std::int64_t>(static_cast<std::uint64_t>(value) * factor);
}

std::int64_t plus(std::int64_t value, std::uint64_t more) {
  return static_cast<std::int64_t>(static_cast<std::uint64_t>(value) + more);
}

/// A number near the one that is there.
std::int64_t nudge(Dice& dice, std::int64_t value) {
  switch (dice.between(0, 5)) {
    case 0:
      return plus(value, 1);
    case 1:
      return plus(value, ~std::uint64_t{0});
    case 2:
      return times(value, 2);
    case 3:
      return value / 2;
    case 4:
      return times(value, 3);
    default:
      return dice.between(1, 40);
  }
}

void nudge_spec(Dice& dice, RegistrationData& data, const Target& target) {
  const std::vector<const char*> fields{"page_size_bytes", "page_size_padded",
                                        "unpadded_page_size_bytes", "block_size", "num_states"};
  const char* field = dice.pick(fields);
  const Value* now = reference::leaf_of(data, target).attribute(field);
  const std::int64_t page = reference::leaf_of(data, target).page_size_bytes;
  reference::change_spec(data, target, field, nudge(dice, now != nullptr ? now->integer : page));
}

void nudge_placement(Dice& dice, RegistrationData& data) {
  if (data.placements.empty()) return;
  Placement& placement = data.placements[dice.index(data.placements.size())];
  std::int64_t* const fields[] = {&placement.offset, &placement.layer_stride,
                                  &placement.block_stride};
  std::int64_t& field = *fields[dice.index(3)];
  field = nudge(dice, field);
}

void nudge_something(Dice& dice, Case& made) {
  RegistrationData& data = made.data;
  const std::optional<Target> target = some_target(dice, data);
  if (!target) return;
  Tensor& tensor = *reference::tensor_of(data, *target);
  const std::vector<const char*> layouts{"", "HND", "NHD", "LHBNC", "BHLNC", "BLNHC"};
  const std::int64_t what = dice.between(0, 9);
  made.story += "nudge " + std::to_string(what) + "; ";
  if (tensor.shape.size() != tensor.stride.size() || tensor.shape.empty()) return;
  switch (what) {
    case 0:
      tensor.shape[target->axis] = nudge(dice, tensor.shape[target->axis]);
      break;
    case 1:
      tensor.stride[target->axis] = nudge(dice, tensor.stride[target->axis]);
      break;
    case 2:
      tensor.storage_offset = nudge(dice, tensor.storage_offset);
      break;
    case 3:
      nudge_spec(dice, data, *target);
      break;
    case 4:
      nudge_placement(dice, data);
      break;
    case 5:
      data.num_blocks = nudge(dice, data.num_blocks);
      break;
    case 6:
      data.layout = dice.pick(layouts);
      break;
    case 7:
      std::swap(tensor.stride[target->axis], tensor.stride[0]);
      break;
    case 8:
      std::swap(tensor.shape[target->axis], tensor.shape[0]);
      break;
    default:
      data.storages[dice.index(data.storages.size())].nbytes -= 1;
      break;
  }
}

}  // namespace

Case right_case(std::uint64_t seed) { return Builder(seed).build(); }

Case changed_case(std::uint64_t seed) {
  Case made = right_case(seed);
  Dice dice(seed ^ 0x9e3779b97f4a7c15ULL);
  for (std::int64_t left = dice.between(1, 3); left > 0; --left) {
    if (!dice.percent(35)) {
      nudge_something(dice, made);
      continue;
    }
    const std::span<const reference::Damage> all = reference::damages();
    const reference::Damage& damage = all[dice.index(all.size())];
    const std::optional<Target> target = some_target(dice, made.data);
    if (target && damage.apply(made.data, *target)) made.story += std::string(damage.name) + "; ";
  }
  return made;
}

Case wild_case(std::uint64_t seed) {
  Dice dice(seed);
  Case made{{}, "wild; "};
  RegistrationData& data = made.data;
  const std::vector<const char*> layouts{"", "HND", "NHD", "LHBNC", "BHLNC"};
  data.layout = dice.pick(layouts);
  data.num_blocks = dice.between(1, 6);
  Tensor tensor;
  tensor.dtype = *find_dtype(dice.percent(50) ? "int8" : "bfloat16");
  tensor.storage = "s0";
  const auto rank = static_cast<std::size_t>(dice.between(2, 5));
  std::vector<std::size_t> order;
  for (std::size_t i = 0; i < rank; ++i) {
    tensor.shape.push_back(dice.percent(40) ? data.num_blocks * dice.between(1, 3)
                                            : dice.between(1, 4));
    order.push_back(i);
  }
  dice.shuffle(order);
  tensor.stride.resize(rank);
  std::int64_t stride = 1;
  for (const std::size_t axis : order) {
    tensor.stride[axis] = stride;
    stride *= tensor.shape[axis];
    if (dice.percent(15)) stride += dice.between(1, 3);
  }
  std::int64_t elements = 1;
  for (const std::int64_t extent : tensor.shape) elements *= extent;
  const std::int64_t bytes = elements * tensor.dtype.itemsize;
  std::vector<Attribute> spec{{"block_size", Value::of(dice.between(1, 8))}};
  std::int64_t page = std::max<std::int64_t>(bytes / data.num_blocks, 1);
  if (dice.percent(30)) spec.push_back({"unpadded_page_size_bytes", Value::of(page)});
  if (dice.percent(30)) {
    page += dice.between(1, 8);
    spec.push_back({"page_size_padded", Value::of(page)});
  }
  spec.push_back({"page_size_bytes", Value::of(page)});
  const bool recurrent = dice.percent(25);
  if (recurrent) spec.push_back({"mamba_cache_mode", Value::of("align")});
  Group group;
  group.layers = {"layers.0"};
  group.spec = *make_spec(recurrent ? "MambaSpec" : "FullAttentionSpec", {}, std::move(spec));
  data.groups = {group};
  data.storages = {{"s0", (span_of({tensor}) + page + 7) / 8 * 8, "cpu"}};
  data.caches = {{"layers.0", {tensor}, false}};
  return made;
}

}  // namespace kvedit::property
