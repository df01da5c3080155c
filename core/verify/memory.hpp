#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include <kvedit/error.hpp>
#include <kvedit/registration.hpp>

namespace kvedit::verify {

/// Zeroed memory, reserved in full and committed only where it is touched.
class Mapping {
 public:
  Mapping() = default;
  Mapping(Mapping&& other) noexcept;
  Mapping& operator=(Mapping&& other) noexcept;
  ~Mapping();

  /// The error names `what`, the bytes and the limit. No bytes: nothing is mapped.
  static Expected<Mapping> reserve(const std::string& what, std::int64_t bytes);

  std::span<std::byte> bytes() const { return bytes_; }
  /// All zero again, none committed.
  void clear() const;

 private:
  explicit Mapping(std::span<std::byte> bytes) : bytes_(bytes) {}

  std::span<std::byte> bytes_;
};

/// The storages of a registration at full size, in their order.
class Memory {
 public:
  static Expected<Memory> like(const Registration& registration);

  std::span<std::byte> storage(std::size_t index) const { return mappings_[index].bytes(); }
  std::size_t storages() const { return mappings_.size(); }
  /// Addresses of the storages, as `AddressMap::make` takes them.
  std::vector<std::uint64_t> bases() const;
  std::uint64_t reserved_bytes() const;
  void clear() const;

 private:
  std::vector<Mapping> mappings_;
};

}  // namespace kvedit::verify
