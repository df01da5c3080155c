#pragma once

#include <c10/core/Storage.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include <kvedit/torch.hpp>

namespace kvedit::verify {
class Mapping;
}

/// The memory behind a registration, laid out exactly as registered, in this process: each storage
/// is reserved in full and committed only where it is touched.
class RegisteredMemory {
 public:
  static kvedit::Expected<RegisteredMemory> reserve(const kvedit::Registration& registration);

  /// The registered tensors, in registration order.
  const kvedit::torch::TensorsByLayer& tensors() const { return tensors_; }

  std::size_t storages() const { return storages_.size(); }
  std::span<std::byte> storage(std::size_t index) const;
  /// Addresses of the storages, as `AddressMap::make` takes them.
  std::vector<std::uint64_t> bases() const;
  /// All bytes zero again, and none committed.
  void clear() const;

 private:
  const kvedit::verify::Mapping& mapping(std::size_t index) const;

  std::vector<c10::Storage> storages_;
  kvedit::torch::TensorsByLayer tensors_;
};
