#include "registered_memory.hpp"

#include <c10/core/ScalarTypeToTypeMeta.h>
#include <c10/core/TensorImpl.h>

#include <map>
#include <memory>
#include <string>
#include <utility>

#include "verify/memory.hpp"

using kvedit::Error;
using kvedit::Expected;
using kvedit::verify::Mapping;

namespace {

void unmap(void* context) {
  const std::unique_ptr<Mapping> mapping(static_cast<Mapping*>(context));
}

Expected<c10::Storage> reserve_storage(const kvedit::Storage& storage) {
  Expected<Mapping> mapping = Mapping::reserve("storage " + storage.name, storage.nbytes);
  if (!mapping) return mapping.error();
  auto kept = std::make_unique<Mapping>(*std::move(mapping));
  const auto bytes = kept->bytes();
  c10::DataPtr memory(bytes.data(), kept.release(), unmap, c10::Device(c10::kCPU));
  return c10::Storage(c10::Storage::use_byte_size_t(), bytes.size(), std::move(memory),
                      /*allocator=*/nullptr, /*resizable=*/false);
}

at::TensorBase wrap(const c10::Storage& storage, const kvedit::Tensor& tensor) {
  // A libtorch without float8 sees bytes.
  const at::ScalarType type =
      kvedit::torch::scalar_type(tensor.dtype).value_or(at::ScalarType::Byte);
  auto made = c10::make_intrusive<c10::TensorImpl>(c10::Storage(storage),
                                                   c10::DispatchKeySet(c10::DispatchKey::CPU),
                                                   c10::scalarTypeToTypeMeta(type));
  made->set_sizes_and_strides(tensor.shape, tensor.stride, tensor.storage_offset);
  return at::TensorBase(std::move(made));
}

}  // namespace

Expected<RegisteredMemory> RegisteredMemory::reserve(const kvedit::Registration& registration) {
  RegisteredMemory memory;
  std::map<std::string, c10::Storage> by_name;
  for (const kvedit::Storage& each : registration.data().storages) {
    Expected<c10::Storage> storage = reserve_storage(each);
    if (!storage) return storage.error();
    by_name.emplace(each.name, *storage);
    memory.storages_.push_back(*std::move(storage));
  }
  for (const kvedit::Cache& cache : registration.data().caches) {
    kvedit::torch::LayerTensors layer{cache.layer, {}, cache.is_list};
    for (const kvedit::Tensor& tensor : cache.tensors) {
      const auto found = by_name.find(tensor.storage);
      if (found == by_name.end())
        return Error{"layer " + cache.layer, "no storage " + tensor.storage};
      layer.tensors.push_back(wrap(found->second, tensor));
    }
    memory.tensors_.push_back(std::move(layer));
  }
  return memory;
}

// libtorch hands out const or mutable pointers depending on its age; the mapping is ours.
const Mapping& RegisteredMemory::mapping(std::size_t index) const {
  return *static_cast<const Mapping*>(
      storages_[index].unsafeGetStorageImpl()->data_ptr().get_context());
}

std::span<std::byte> RegisteredMemory::storage(std::size_t index) const {
  return mapping(index).bytes();
}

std::vector<std::uint64_t> RegisteredMemory::bases() const {
  std::vector<std::uint64_t> bases;
  for (std::size_t i = 0; i < storages(); ++i)
    bases.push_back(reinterpret_cast<std::uintptr_t>(storage(i).data()));
  return bases;
}

void RegisteredMemory::clear() const {
  for (std::size_t i = 0; i < storages(); ++i) mapping(i).clear();
}
