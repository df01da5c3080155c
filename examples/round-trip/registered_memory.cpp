#include "registered_memory.hpp"

#include <c10/core/ScalarTypeToTypeMeta.h>
#include <c10/core/TensorImpl.h>
#include <sys/mman.h>

#include <cerrno>
#include <cstring>
#include <map>
#include <memory>
#include <string>
#include <utility>

using kvedit::Error;
using kvedit::Expected;

namespace {

struct Mapping {
  void* address;
  std::size_t length;
};

void unmap(void* context) {
  const std::unique_ptr<Mapping> mapping(static_cast<Mapping*>(context));
  munmap(mapping->address, mapping->length);
}

Expected<c10::Storage> reserve_storage(const kvedit::Storage& storage) {
  const auto length = static_cast<std::size_t>(storage.nbytes);
  void* address = mmap(nullptr, length, PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (address == MAP_FAILED)
    return Error{"storage " + storage.name, std::to_string(storage.nbytes) +
                                                " bytes cannot be reserved: " +
                                                std::string(std::strerror(errno))};
  c10::DataPtr memory(address, new Mapping{address, length}, unmap, c10::Device(c10::kCPU));
  return c10::Storage(c10::Storage::use_byte_size_t(), length, std::move(memory),
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

std::span<std::byte> RegisteredMemory::storage(std::size_t index) const {
  const c10::StorageImpl* storage = storages_[index].unsafeGetStorageImpl();
  // libtorch hands out const or mutable pointers depending on its age; the mapping is ours.
  void* address = static_cast<Mapping*>(storage->data_ptr().get_context())->address;
  return {static_cast<std::byte*>(address), storage->nbytes()};
}

std::vector<std::uint64_t> RegisteredMemory::bases() const {
  std::vector<std::uint64_t> bases;
  for (std::size_t i = 0; i < storages(); ++i)
    bases.push_back(reinterpret_cast<std::uintptr_t>(storage(i).data()));
  return bases;
}

void RegisteredMemory::clear() const {
  for (std::size_t i = 0; i < storages(); ++i)
    madvise(storage(i).data(), storage(i).size(), MADV_DONTNEED);
}
