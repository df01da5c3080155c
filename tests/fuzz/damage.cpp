#include <utility>
#include <vector>

#include "subjects.hpp"

namespace kvedit::fuzz {
namespace {

template <class T>
T* pick(std::vector<T>& items, Bytes& bytes) {
  return items.empty() ? nullptr : &items[bytes.below(items.size())];
}

Tensor* some_tensor(RegistrationData& data, Bytes& bytes) {
  Cache* cache = pick(data.caches, bytes);
  return cache == nullptr ? nullptr : pick(cache->tensors, bytes);
}

void change_axis(Tensor& tensor, Bytes& bytes) {
  if (tensor.shape.empty() || tensor.stride.empty()) return;
  const std::size_t a = bytes.below(tensor.shape.size()), b = bytes.below(tensor.stride.size());
  switch (bytes.next() % 7) {
    case 0:
      tensor.shape[a] = bytes.near(tensor.shape[a]);
      break;
    case 1:
      tensor.stride[b] = bytes.near(tensor.stride[b]);
      break;
    case 2:
      std::swap(tensor.shape[a], tensor.shape[0]);
      break;
    case 3:
      std::swap(tensor.stride[b], tensor.stride[0]);
      break;
    case 4:
      tensor.shape.pop_back();
      if (bytes.next() % 8 != 0) tensor.stride.pop_back();
      break;
    case 5:
      tensor.shape.push_back(bytes.number());
      tensor.stride.push_back(bytes.number());
      break;
    default:
      tensor.shape[a] = 1;
      break;
  }
}

void change_tensor(Tensor& tensor, const RegistrationData& data, Bytes& bytes) {
  static const char* const names[] = {"int8", "bfloat16",         "float32",     "float64",
                                      "bool", "float4_e2m1fn_x2", "float8_e5m2", "complex128"};
  switch (bytes.next() % 8) {
    case 0:
      tensor.dtype = *find_dtype(names[bytes.below(std::size(names))]);
      break;
    case 1:
      tensor.dtype = opaque_dtype("nobodys", 1 + static_cast<std::uint32_t>(bytes.below(256)));
      break;
    case 2:
      tensor.storage_offset = bytes.near(tensor.storage_offset);
      break;
    case 3:
      if (!data.storages.empty())
        tensor.storage = data.storages[bytes.below(data.storages.size())].name;
      break;
    default:
      change_axis(tensor, bytes);
      break;
  }
}

void change_spec(Spec& spec, Bytes& bytes) {
  static const char* const fields[] = {
      "page_size_bytes", "page_size_padded", "unpadded_page_size_bytes", "block_size",
      "num_states",      "tokens_per_state", "compress_ratio",           "num_kv_heads",
      "head_size",       "head_size_v"};
  static const char* const types[] = {"FullAttentionSpec", "MLAAttentionSpec",   "MambaSpec",
                                      "SlidingWindowSpec", "CrossAttentionSpec", "Nobodys"};
  std::vector<Attribute> attributes(spec.attributes.begin(), spec.attributes.end());
  std::erase_if(attributes,
                [](const Attribute& each) { return each.name == "type" || each.name == "bases"; });
  std::string type = spec.type;
  const std::string field = fields[bytes.below(std::size(fields))];
  const std::uint8_t how = bytes.next() % 8;
  if (how == 0) type = types[bytes.below(std::size(types))];
  const Value* now = spec.attribute(field);
  const std::int64_t value = now != nullptr ? now->integer : spec.page_size_bytes;
  if (how > 0) std::erase_if(attributes, [&](const Attribute& each) { return each.name == field; });
  if (how > 1) attributes.push_back({field, Value::of(bytes.near(value))});
  if (how == 7) attributes.push_back({"mamba_cache_mode", Value::of("all")});
  Expected<Spec> made = make_spec(type, spec.bases, std::move(attributes));
  if (made) spec = std::move(*made);
}

void change_group(RegistrationData& data, Bytes& bytes) {
  Group* group = pick(data.groups, bytes);
  if (group == nullptr) return;
  std::string* layer = pick(group->layers, bytes);
  switch (bytes.next() % 8) {
    case 0:
      group->num_blocks = bytes.near(group->num_blocks.value_or(data.num_blocks));
      break;
    case 1:
      group->enable_kv_transfer = !group->enable_kv_transfer;
      break;
    case 2:
      if (layer != nullptr) group->layers.push_back(std::string(*layer));
      break;
    case 3:
      if (layer != nullptr && !data.caches.empty())
        *layer = data.caches[bytes.below(data.caches.size())].layer;
      break;
    case 4:
      if (!group->layers.empty()) group->layers.pop_back();
      break;
    default: {
      const auto leaf =
          layer == nullptr ? group->layer_specs.end() : group->layer_specs.find(*layer);
      change_spec(leaf == group->layer_specs.end() ? group->spec : leaf->second, bytes);
    }
  }
}

void change_place(RegistrationData& data, Bytes& bytes) {
  Placement* placement = pick(data.placements, bytes);
  Storage* storage = pick(data.storages, bytes);
  switch (bytes.next() % 7) {
    case 0:
      if (placement != nullptr) placement->offset = bytes.near(placement->offset);
      break;
    case 1:
      if (placement != nullptr) placement->layer_stride = bytes.near(placement->layer_stride);
      break;
    case 2:
      if (placement != nullptr) placement->block_stride = bytes.near(placement->block_stride);
      break;
    case 3:
      if (placement != nullptr && storage != nullptr) placement->storage = storage->name;
      break;
    case 4:
      if (!data.placements.empty()) data.placements.pop_back();
      break;
    default:
      if (storage != nullptr) storage->nbytes = bytes.near(storage->nbytes);
      break;
  }
}

void change_whole(RegistrationData& data, Bytes& bytes) {
  static const char* const layouts[] = {"",      "HND",   "NHD",   "LBHNC", "LBNHC",
                                        "LHBNC", "BLHNC", "BLNHC", "BHLNC"};
  switch (bytes.next() % 6) {
    case 0:
      data.num_blocks = bytes.near(data.num_blocks);
      break;
    case 1:
      data.parallel.dcp = bytes.near(data.parallel.dcp);
      break;
    case 2:
      data.layout = layouts[bytes.below(std::size(layouts))];
      break;
    case 3:
      if (!data.caches.empty()) data.caches.pop_back();
      break;
    case 4:
      if (Cache* cache = pick(data.caches, bytes); cache != nullptr) {
        Cache again = *cache;
        again.layer += "'";
        data.caches.push_back(std::move(again));
      }
      break;
    default:
      if (Cache* cache = pick(data.caches, bytes); cache != nullptr && !cache->tensors.empty()) {
        cache->tensors.push_back(Tensor(cache->tensors.front()));
        cache->is_list = true;
      }
      break;
  }
}

}  // namespace

void damage(RegistrationData& data, Bytes& bytes) {
  for (int left = 12; left > 0 && !bytes.empty(); --left) {
    const std::uint8_t what = bytes.next() % 8;
    if (what < 4) {
      if (Tensor* tensor = some_tensor(data, bytes); tensor != nullptr)
        change_tensor(*tensor, data, bytes);
    } else if (what < 6) {
      change_group(data, bytes);
    } else if (what == 6) {
      change_place(data, bytes);
    } else {
      change_whole(data, bytes);
    }
  }
}

}  // namespace kvedit::fuzz
