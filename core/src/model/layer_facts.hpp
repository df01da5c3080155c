#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string_view>

#include <kvedit/options.hpp>
#include <kvedit/registration.hpp>

#include "base/int128.hpp"

namespace kvedit {

/// What rules see of a layer. Layers with equal facts form a class: they get one answer and one
/// proof. Names, absolute offsets and storage sizes are not among the facts.
struct LayerFacts {
  const Spec* spec = nullptr;    // one address for equal specs of a registration
  const Group* group = nullptr;  // only its flags and role: one address for equal ones
  std::string_view layout;
  Purpose purpose = Purpose::prefix;
  std::int64_t num_blocks = 0;
  std::int64_t slots = 1;
  std::int64_t placed_stride = -1;  // block stride of the placement in bytes, or -1
  std::span<const Tensor> tensors;  // one address for tensors that differ only in where they lie
  bool listed = false;              // a list is registered, be it of one tensor
  bool private_order = false;       // of tokens, K and V; no rule is shown it

  /// Where the room that asks rules keeps what it made of these facts; not part of them.
  mutable std::shared_ptr<const void> prepared;
};

/// Bytes from the first element of `first` to that of `other`; 0 when their storages differ.
inline std::int64_t offset_between(const Tensor& first, const Tensor& other) {
  if (first.storage != other.storage) return 0;
  // Alike tensors may stand for checked ones, so only the difference is known to fit.
  return static_cast<std::int64_t>(Int128{other.storage_offset} * other.dtype.itemsize -
                                   Int128{first.storage_offset} * first.dtype.itemsize);
}

/// The first of the layer's tensors that lies in the storage of tensor `index`.
inline std::size_t storage_leader(std::span<const Tensor> tensors, std::size_t index) {
  std::size_t leader = 0;
  while (tensors[leader].storage != tensors[index].storage) ++leader;
  return leader;
}

/// Whether tensors differ only in storage names and in where they lie.
bool alike(std::span<const Tensor> a, std::span<const Tensor> b);
std::uint64_t hash_alike(std::span<const Tensor> tensors);

bool same_flags(const Group& a, const Group& b);

}  // namespace kvedit
