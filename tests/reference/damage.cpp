#include "reference/damage.hpp"

#include <algorithm>
#include <initializer_list>
#include <limits>
#include <vector>

#include "reference/memory.hpp"

namespace kvedit::reference {
namespace {

constexpr std::int64_t huge = std::numeric_limits<std::int64_t>::max();

const std::string& name_of(const RegistrationData& data, const Target& target) {
  return data.groups[target.group].layers[target.layer];
}

Spec& spec_of(RegistrationData& data, const Target& target) {
  Group& group = data.groups[target.group];
  const auto leaf = group.layer_specs.find(name_of(data, target));
  return leaf == group.layer_specs.end() ? group.spec : leaf->second;
}

Storage* storage_of(RegistrationData& data, const Target& target) {
  const Tensor* tensor = tensor_of(data, target);
  if (tensor == nullptr) return nullptr;
  const std::int32_t index = find_storage(data, tensor->storage);
  return index < 0 ? nullptr : &data.storages[static_cast<std::size_t>(index)];
}

bool with_tensor(RegistrationData& data, const Target& target,
                 void (*change)(Tensor&, std::size_t)) {
  Tensor* tensor = tensor_of(data, target);
  if (tensor == nullptr || target.axis >= tensor->shape.size()) return false;
  change(*tensor, target.axis);
  return true;
}

bool shorten_storage(RegistrationData& data, const Target& target) {
  Storage* storage = storage_of(data, target);
  if (storage == nullptr) return false;
  Wide end = 0;
  for (const Cache& cache : data.caches)
    for (const Tensor& tensor : cache.tensors) {
      if (tensor.storage != storage->name) continue;
      Wide last = tensor.storage_offset;
      for (std::size_t i = 0; i < tensor.shape.size(); ++i)
        last += (Wide{tensor.shape[i]} - 1) * tensor.stride[i];
      end = std::max(end, (last + 1) * tensor.dtype.itemsize);
    }
  if (end > huge) return false;
  storage->nbytes = static_cast<std::int64_t>(end - 1);
  return true;
}

bool widen_dtype(RegistrationData& data, const Target& target) {
  Tensor* tensor = tensor_of(data, target);
  if (tensor == nullptr) return false;
  tensor->dtype = *find_dtype(tensor->dtype.itemsize == 1   ? "bfloat16"
                              : tensor->dtype.itemsize == 2 ? "float32"
                                                            : "float64");
  return true;
}

bool remove_cache(RegistrationData& data, const Target& target) {
  const std::string& name = name_of(data, target);
  return std::erase_if(data.caches, [&](const Cache& cache) { return cache.layer == name; }) > 0;
}

/// Puts the layer where the next one of its group lies, one element further.
bool lay_over_next(RegistrationData& data, const Target& target) {
  const Group& group = data.groups[target.group];
  Cache* cache = cache_of(data, name_of(data, target));
  if (cache == nullptr || target.layer + 1 >= group.layers.size()) return false;
  const Cache* next = cache_of(data, group.layers[target.layer + 1]);
  if (next == nullptr || next->tensors.size() != cache->tensors.size()) return false;
  for (std::size_t i = 0; i < cache->tensors.size(); ++i) {
    cache->tensors[i].storage = next->tensors[i].storage;
    cache->tensors[i].storage_offset = next->tensors[i].storage_offset;
  }
  cache->tensors[0].storage_offset += cache->tensors[0].shape.back();
  return true;
}

Placement* placement_of(RegistrationData& data, const Target& target) {
  for (Placement& placement : data.placements)
    for (const std::string& layer : placement.layers)
      if (layer == name_of(data, target)) return &placement;
  return nullptr;
}

bool shift_placement(RegistrationData& data, const Target& target, std::int64_t bytes) {
  Placement* placement = placement_of(data, target);
  if (placement == nullptr) return false;
  return !__builtin_add_overflow(placement->offset, bytes, &placement->offset);
}

/// Makes the outermost axis step by one element less than what lies below it.
bool overlap_stride(RegistrationData& data, const Target& target) {
  Tensor* tensor = tensor_of(data, target);
  if (tensor == nullptr) return false;
  std::size_t outermost = 0;
  for (std::size_t i = 0; i < tensor->shape.size(); ++i)
    if (tensor->shape[i] > 1 && tensor->stride[i] > tensor->stride[outermost]) outermost = i;
  Wide below = 0;
  for (std::size_t i = 0; i < tensor->shape.size(); ++i)
    if (i != outermost) below += (Wide{tensor->shape[i]} - 1) * tensor->stride[i];
  if (tensor->shape[outermost] < 2 || below < 1 || below > huge) return false;
  tensor->stride[outermost] = static_cast<std::int64_t>(below);
  return true;
}

bool change_page(RegistrationData& data, const Target& target, std::int64_t numerator,
                 std::int64_t denominator) {
  std::int64_t page = leaf_of(data, target).page_size_bytes;
  if (__builtin_mul_overflow(page, numerator, &page)) return false;
  return change_spec(data, target, "page_size_bytes", page / denominator);
}

bool change_blocks(RegistrationData& data, const Target& target, std::int64_t change) {
  Group& group = data.groups[target.group];
  std::int64_t blocks = group.num_blocks.value_or(data.num_blocks);
  if (__builtin_add_overflow(blocks, change, &blocks)) return false;
  group.num_blocks = blocks;
  return true;
}

using D = RegistrationData;
using T = Target;
using Axis = std::size_t;

std::vector<Damage> spec_damages() {
  const std::set<Code> page{Code::bad_geometry, Code::not_tiled,           Code::block_count,
                            Code::overlap,      Code::outside_page,        Code::placement_mismatch,
                            Code::incomplete,   Code::granularity_mismatch};
  const std::set<Code> blocks{Code::block_count, Code::not_tiled, Code::granularity_mismatch,
                              Code::placement_mismatch, Code::bad_geometry};
  const std::set<Code> sane{Code::bad_geometry};
  return {
      {"page doubled", Scope::group, page,
       [](D& d, const T& t) { return change_page(d, t, 2, 1); }},
      {"page halved", Scope::group, page, [](D& d, const T& t) { return change_page(d, t, 1, 2); }},
      {"page zero", Scope::group, sane, [](D& d, const T& t) { return change_page(d, t, 0, 1); }},
      {"page negative", Scope::group, sane,
       [](D& d, const T& t) { return change_page(d, t, -1, 1); }},
      {"page huge", Scope::group, page,
       [](D& d, const T& t) { return change_spec(d, t, "page_size_bytes", huge); }},
      {"block size zero", Scope::group, sane,
       [](D& d, const T& t) { return change_spec(d, t, "block_size", 0); }},
      {"block size negative", Scope::group, sane,
       [](D& d, const T& t) { return change_spec(d, t, "block_size", -16); }},
      {"unpadded page above the page", Scope::group, sane,
       [](D& d, const T& t) {
         std::int64_t above = leaf_of(d, t).page_size_bytes;
         return !__builtin_add_overflow(above, 1, &above) &&
                change_spec(d, t, "unpadded_page_size_bytes", above);
       }},
      {"a block more than there is", Scope::group, blocks,
       [](D& d, const T& t) { return change_blocks(d, t, 1); }},
      {"no block",
       Scope::registration,
       {Code::block_count, Code::bad_geometry},
       [](D& d, const T&) {
         d.num_blocks = 0;
         for (Group& group : d.groups) group.num_blocks.reset();
         return true;
       }},
      {"blocks huge", Scope::group, blocks,
       [](D& d, const T& t) {
         d.groups[t.group].num_blocks = huge;
         return true;
       }},
  };
}

std::vector<Damage> place_damages() {
  const std::set<Code> bad{Code::bad_geometry};
  const std::set<Code> lies{Code::overlap, Code::placement_mismatch, Code::bad_geometry,
                            Code::outside_page};
  const std::set<Code> placed{Code::placement_mismatch, Code::bad_geometry};
  return {
      {"storage too short", Scope::tensor, bad, shorten_storage},
      {"unknown storage", Scope::tensor, bad,
       [](D& d, const T& t) {
         return with_tensor(d, t, [](Tensor& x, Axis) { x.storage.push_back('?'); });
       }},
      {"offset beyond", Scope::tensor, bad,
       [](D& d, const T& t) {
         const Storage* storage = storage_of(d, t);
         if (storage == nullptr) return false;
         tensor_of(d, t)->storage_offset = storage->nbytes;
         return true;
       }},
      {"offset huge", Scope::tensor, bad,
       [](D& d, const T& t) {
         return with_tensor(d, t, [](Tensor& x, Axis) { x.storage_offset = huge; });
       }},
      {"offset negative", Scope::tensor, bad,
       [](D& d, const T& t) {
         return with_tensor(d, t, [](Tensor& x, Axis) { x.storage_offset = -1; });
       }},
      {"wider dtype",
       Scope::tensor,
       {Code::bad_geometry, Code::not_tiled, Code::block_count, Code::overlap,
        Code::placement_mismatch, Code::granularity_mismatch, Code::outside_page},
       widen_dtype},
      {"missing cache", Scope::group, {Code::missing_cache, Code::missing_spec}, remove_cache},
      {"two layers of a group at one place", Scope::group, lies, lay_over_next},
      {"placement shifted by a byte", Scope::group, placed,
       [](D& d, const T& t) { return shift_placement(d, t, 1); }},
      {"placement shifted by a page", Scope::group, placed,
       [](D& d, const T& t) { return shift_placement(d, t, leaf_of(d, t).page_size_bytes); }},
      {"placement before the storage", Scope::group, placed,
       [](D& d, const T& t) { return shift_placement(d, t, -huge); }},
      {"placement block stride zero",
       Scope::group,
       {Code::placement_mismatch, Code::bad_geometry, Code::not_tiled, Code::block_count},
       [](D& d, const T& t) {
         Placement* placement = placement_of(d, t);
         if (placement != nullptr) placement->block_stride = 0;
         return placement != nullptr;
       }},
  };
}

std::vector<Damage> shape_damages() {
  const std::set<Code> bad{Code::bad_geometry};
  return {
      {"stride beyond", Scope::axis, bad,
       [](D& d, const T& t) {
         const Storage* storage = storage_of(d, t);
         Tensor* tensor = tensor_of(d, t);
         if (storage == nullptr || tensor->shape[t.axis] < 2) return false;
         tensor->stride[t.axis] = storage->nbytes;
         return true;
       }},
      {"stride huge", Scope::axis, bad,
       [](D& d, const T& t) {
         const Tensor* tensor = tensor_of(d, t);
         if (tensor == nullptr || tensor->shape[t.axis] < 2) return false;
         return with_tensor(d, t, [](Tensor& x, Axis a) { x.stride[a] = huge; });
       }},
      {"negative stride", Scope::axis, bad,
       [](D& d, const T& t) {
         return with_tensor(d, t, [](Tensor& x, Axis a) { x.stride[a] = -x.stride[a]; });
       }},
      {"zero stride", Scope::axis, bad,
       [](D& d, const T& t) {
         return with_tensor(d, t, [](Tensor& x, Axis a) { x.stride[a] = 0; });
       }},
      {"overlapping stride",
       Scope::tensor,
       {Code::overlap, Code::bad_geometry, Code::not_tiled, Code::placement_mismatch,
        Code::block_count, Code::granularity_mismatch},
       overlap_stride},
      {"shape overflow", Scope::axis, bad,
       [](D& d, const T& t) {
         return with_tensor(d, t, [](Tensor& x, Axis a) { x.shape[a] = huge; });
       }},
      {"empty axis", Scope::axis, bad,
       [](D& d, const T& t) {
         return with_tensor(d, t, [](Tensor& x, Axis a) { x.shape[a] = 0; });
       }},
      {"negative axis", Scope::axis, bad,
       [](D& d, const T& t) {
         return with_tensor(d, t, [](Tensor& x, Axis a) { x.shape[a] = -1; });
       }},
      {"more strides than axes", Scope::tensor, bad,
       [](D& d, const T& t) {
         return with_tensor(d, t, [](Tensor& x, Axis) { x.stride.push_back(1); });
       }},
      {"fewer strides than axes", Scope::tensor, bad,
       [](D& d, const T& t) {
         return with_tensor(d, t, [](Tensor& x, Axis) { x.stride.pop_back(); });
       }},
      {"no axes", Scope::tensor, bad,
       [](D& d, const T& t) {
         return with_tensor(d, t, [](Tensor& x, Axis) {
           x.shape.clear();
           x.stride.clear();
         });
       }},
  };
}

}  // namespace

const Spec& leaf_of(const RegistrationData& data, const Target& target) {
  const Group& group = data.groups[target.group];
  const auto leaf = group.layer_specs.find(name_of(data, target));
  return leaf == group.layer_specs.end() ? group.spec : leaf->second;
}

Cache* cache_of(RegistrationData& data, const std::string& layer) {
  for (Cache& cache : data.caches)
    if (cache.layer == layer) return &cache;
  return nullptr;
}

Tensor* tensor_of(RegistrationData& data, const Target& target) {
  Cache* cache = cache_of(data, name_of(data, target));
  if (cache == nullptr || target.tensor >= cache->tensors.size()) return nullptr;
  return &cache->tensors[target.tensor];
}

bool change_spec(RegistrationData& data, const Target& target, std::string_view field,
                 std::int64_t value) {
  Spec& spec = spec_of(data, target);
  std::vector<Attribute> attributes(spec.attributes.begin(), spec.attributes.end());
  std::erase_if(attributes, [&](const Attribute& each) {
    return each.name == field || each.name == "type" || each.name == "bases";
  });
  attributes.push_back({std::string(field), Value::of(value)});
  Expected<Spec> changed = make_spec(spec.type, spec.bases, std::move(attributes));
  if (changed) spec = std::move(*changed);
  return changed.has_value();
}

std::span<const Damage> damages() {
  static const std::vector<Damage> all = [] {
    std::vector<Damage> together = spec_damages();
    for (const auto& part : {place_damages(), shape_damages()})
      together.insert(together.end(), part.begin(), part.end());
    return together;
  }();
  return all;
}

}  // namespace kvedit::reference
