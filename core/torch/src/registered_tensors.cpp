#include "registered_tensors.hpp"

#include <c10/core/TensorImpl.h>

#include <algorithm>
#include <string>
#include <tuple>

#include "dtypes.hpp"
#include "model/index.hpp"

namespace kvedit::torch {
namespace {

template <class Numbers>
std::string text(const Numbers& numbers) {
  std::string out = "[";
  for (const std::int64_t number : numbers) {
    if (out.size() > 1) out += ", ";
    out += std::to_string(number);
  }
  return out + "]";
}

bool equal(at::IntArrayRef a, const std::vector<std::int64_t>& b) {
  return a.size() == b.size() && std::equal(a.begin(), a.end(), b.begin());
}

bool same_metadata(const at::TensorBase& given, const Tensor& registered) {
  return given.scalar_type() == shown_type(registered.dtype, given.scalar_type()) &&
         equal(given.sizes(), registered.shape) && equal(given.strides(), registered.stride) &&
         given.storage_offset() == registered.storage_offset;
}

std::string described(const std::string& dtype, const std::string& shape, const std::string& stride,
                      std::int64_t offset) {
  return dtype + ", shape " + shape + ", stride " + stride + ", storage offset " +
         std::to_string(offset);
}

Error other_tensor(const std::string& layer, const at::TensorBase& given, const Tensor& registered) {
  std::string remedy = "give the registered tensor, or capture the registration again";
  if (!scalar_type(registered.dtype))
    remedy = "this libtorch has no " + registered.dtype.name +
             ": give a uint8 tensor over the same storage, or use a newer libtorch";
  return {"layer " + layer,
          "its tensor is " +
              described(dtype_of(given.scalar_type()).name, text(given.sizes()),
                        text(given.strides()), given.storage_offset()) +
              "; registered was " +
              described(registered.dtype.name, text(registered.shape), text(registered.stride),
                        registered.storage_offset) +
              ": " + remedy};
}

// Bytes of live memory that a registered storage stands for.
struct Memory {
  std::string device;
  std::uintptr_t begin;
  std::uintptr_t end;
  const Storage* storage;
};

}  // namespace

const char* not_plain(const at::TensorBase& tensor) {
  if (!tensor.defined()) return "is undefined";
  constexpr c10::DispatchKeySet odd({c10::DispatchKey::Python, c10::DispatchKey::Conjugate,
                                     c10::DispatchKey::Negative, c10::DispatchKey::ZeroTensor});
  if (tensor.key_set().has_any(odd)) return "is a subclass, or a lazy conjugate or negative";
  if (tensor.layout() != at::Layout::Strided) return "is not strided";
  if (tensor.is_quantized()) return "is quantised by torch";
  if (!tensor.has_storage()) return "has no storage";
  return nullptr;
}

RegisteredTensors::RegisteredTensors(const Registration& registration)
    : registration_(registration), first_in_(registration.data().storages.size()) {}

std::size_t RegisteredTensors::layer_count() const {
  return registration_.index().layers.size() + registration_.index().ungrouped.size();
}

std::int32_t RegisteredTensors::cache_of(std::size_t layer) const {
  const RegistrationIndex& index = registration_.index();
  return layer < index.layers.size() ? index.layers[layer].cache
                                     : index.ungrouped[layer - index.layers.size()];
}

std::optional<Error> RegisteredTensors::check(std::size_t cache,
                                              std::span<const at::TensorBase> given) {
  const Cache& registered = registration_.data().caches[cache];
  const TensorPlace* places = registration_.index().places_of(static_cast<std::int32_t>(cache));
  if (given.size() != registered.tensors.size())
    return Error{"layer " + registered.layer,
                 std::to_string(given.size()) + " tensors given, " +
                     std::to_string(registered.tensors.size()) +
                     " registered: give all tensors of the layer, in registration order"};
  for (std::size_t i = 0; i < given.size(); ++i) {
    if (const char* why = not_plain(given[i]))
      return Error{"layer " + registered.layer,
                   "tensor " + std::to_string(i) + " " + why + ": give the registered tensor"};
    if (!same_metadata(given[i], registered.tensors[i]))
      return other_tensor(registered.layer, given[i], registered.tensors[i]);
    if (auto wrong = check_storage(registered.layer, places[i].storage, given[i])) return wrong;
  }
  return std::nullopt;
}

std::optional<Error> RegisteredTensors::check_storage(std::string_view layer, std::int32_t index,
                                                      const at::TensorBase& given) {
  if (index < 0)
    return Error{"layer " + std::string(layer),
                 "its registered tensor names a storage that the registration does not have: "
                 "capture the registration again"};
  const at::TensorBase*& first = first_in_[static_cast<std::size_t>(index)];
  const Storage& registered = registration_.data().storages[static_cast<std::size_t>(index)];
  const c10::StorageImpl* storage = given.storage().unsafeGetStorageImpl();
  if (first) {
    if (first->storage().unsafeGetStorageImpl() == storage) return std::nullopt;
    return Error{"layer " + std::string(layer),
                 "its tensor lies in another storage than the tensors before it, all registered "
                 "in storage " +
                     registered.name + ": give the registered tensors, not copies"};
  }
  first = &given;
  if (registered.nbytes >= 0 && storage->nbytes() >= static_cast<std::size_t>(registered.nbytes))
    return std::nullopt;
  return Error{"layer " + std::string(layer), "its storage has " +
                                                  std::to_string(storage->nbytes()) +
                                                  " bytes, storage " + registered.name +
                                                  " was registered with " +
                                                  std::to_string(registered.nbytes) +
                                                  ": give the registered tensor"};
}

std::optional<Error> RegisteredTensors::check_apart() const {
  std::vector<Memory> memory;
  for (std::size_t i = 0; i < first_in_.size(); ++i) {
    if (!first_in_[i]) continue;
    const c10::Storage& live = first_in_[i]->storage();
    const auto begin = reinterpret_cast<std::uintptr_t>(live.unsafeGetStorageImpl()->data());
    if (begin == 0) continue;  // a storage without memory: a meta tensor, or one of no bytes
    const Storage& registered = registration_.data().storages[i];
    memory.push_back({live.device().str(), begin,
                      begin + static_cast<std::uintptr_t>(registered.nbytes), &registered});
  }
  std::sort(memory.begin(), memory.end(), [](const Memory& a, const Memory& b) {
    return std::tie(a.device, a.begin, a.end) < std::tie(b.device, b.begin, b.end);
  });
  for (std::size_t i = 1; i < memory.size(); ++i)
    if (memory[i].device == memory[i - 1].device && memory[i].begin < memory[i - 1].end)
      return Error{"storage " + memory[i].storage->name,
                   "the tensors registered in it share " +
                       std::to_string(memory[i - 1].end - memory[i].begin) +
                       " bytes with those of storage " + memory[i - 1].storage->name +
                       ", which was registered apart: what was proved does not hold, capture the "
                       "registration again"};
  return std::nullopt;
}

}  // namespace kvedit::torch
