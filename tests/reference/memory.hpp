#pragma once

#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <kvedit/registration.hpp>

namespace kvedit::reference {

/// Everything that comes out of a registration is multiplied and added in 128 bits.
__extension__ using Wide = __int128;

/// One byte of one storage.
struct Byte {
  std::int32_t storage = 0;
  std::int64_t offset = 0;

  auto operator<=>(const Byte&) const = default;
};

using Bytes = std::vector<Byte>;  ///< sorted

/// More bytes than this are not enumerated.
constexpr std::int64_t enumerable = 1 << 18;

/// Index of the storage of that name, or -1.
std::int32_t find_storage(const RegistrationData& data, const std::string& name);

/// Why the tensor cannot be looked at at all (ranks, extents, strides, storage), or nothing.
std::optional<std::string> fault_of(const RegistrationData& data, const Tensor& tensor);

/// Elements of a tensor without a fault.
Wide element_count(const Tensor& tensor);

/// Bytes of one index of an axis.
Wide entry_bytes(const Tensor& tensor, std::size_t axis);

/// Appends the bytes of one index of `axis`, in the order of enumeration: not sorted, and a byte
/// that two elements share is there twice.
void append_entry(const Tensor& tensor, std::int32_t storage, std::size_t axis, std::int64_t index,
                  Bytes& bytes);

/// The same of all indices.
void append_all(const Tensor& tensor, std::int32_t storage, Bytes& bytes);

/// Whether two elements of a tensor without a fault share a byte.
bool meets_itself(const Tensor& tensor);

/// Sorts; true when a byte was there twice (it stays there once).
bool sort_and_unite(Bytes& bytes);

/// Whether every byte of `inner` is in `outer`; both sorted.
bool contains(const Bytes& outer, const Bytes& inner);

}  // namespace kvedit::reference
