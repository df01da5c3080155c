#include <c10/core/TensorImpl.h>

#include <exception>
#include <optional>
#include <unordered_map>
#include <utility>

#include <kvedit/torch.hpp>

#include "dtypes.hpp"
#include "registered_tensors.hpp"

namespace kvedit::torch {
namespace {

// Names storages in the order in which they are first seen.
class StorageNames {
 public:
  explicit StorageNames(std::vector<Storage>& storages) : storages_(storages) {}

  const std::string& name(const at::TensorBase& tensor) {
    const c10::StorageImpl* storage = tensor.storage().unsafeGetStorageImpl();
    const auto [found, added] = index_.try_emplace(storage, storages_.size());
    if (added) {
      std::string name = "s";
      name += std::to_string(storages_.size());
      storages_.push_back({std::move(name), static_cast<std::int64_t>(storage->nbytes()),
                           tensor.device().str()});
    }
    return storages_[found->second].name;
  }

 private:
  std::vector<Storage>& storages_;
  std::unordered_map<const c10::StorageImpl*, std::size_t> index_;
};

Expected<Cache> capture_layer(const LayerTensors& given, StorageNames& storages) {
  Cache cache;
  cache.layer = given.layer;
  cache.is_list = given.is_list || given.tensors.size() > 1;
  for (std::size_t i = 0; i < given.tensors.size(); ++i) {
    const at::TensorBase& tensor = given.tensors[i];
    if (const char* why = not_plain(tensor))
      return Error{"layer " + given.layer, "tensor " + std::to_string(i) + " " + why +
                                               ": only plain strided tensors can be registered"};
    cache.tensors.push_back({dtype_of(tensor.scalar_type()), tensor.sizes().vec(),
                             tensor.strides().vec(), tensor.storage_offset(),
                             storages.name(tensor)});
  }
  return cache;
}

// A placement lies in the storage of its layers' tensors.
std::optional<Error> place(RegistrationData& data) {
  std::unordered_map<std::string_view, const Cache*> by_name;
  for (const Cache& cache : data.caches) by_name.emplace(cache.layer, &cache);
  for (std::size_t i = 0; i < data.placements.size(); ++i) {
    Placement& placement = data.placements[i];
    for (const std::string& layer : placement.layers) {
      if (!placement.storage.empty()) break;
      const auto found = by_name.find(layer);
      if (found != by_name.end() && !found->second->tensors.empty())
        placement.storage = found->second->tensors.front().storage;
    }
    if (placement.storage.empty())
      return Error{"placement " + std::to_string(i),
                   "none of its " + std::to_string(placement.layers.size()) +
                       " layers has a tensor: name its storage, or leave it out"};
  }
  return std::nullopt;
}

}  // namespace

Expected<Registration> capture(const CaptureInput& input) try {
  if (!input.facts.storages.empty() || !input.facts.caches.empty())
    return Error{"", std::to_string(input.facts.storages.size()) + " storages and " +
                         std::to_string(input.facts.caches.size()) +
                         " caches among the facts: leave both empty, they come from the tensors"};
  RegistrationData data = input.facts;
  StorageNames storages(data.storages);
  for (const LayerTensors& each : input.tensors) {
    Expected<Cache> cache = capture_layer(each, storages);
    if (!cache) return cache.error();
    data.caches.push_back(*std::move(cache));
  }
  if (std::optional<Error> wrong = place(data)) return *std::move(wrong);
  return Registration(std::move(data));
} catch (const std::exception& error) {
  return Error{"", "libtorch refused: " + std::string(error.what())};
}

}  // namespace kvedit::torch
