#pragma once

#include <cstdint>
#include <kvedit/options.hpp>
#include <kvedit/registration.hpp>
#include <memory>
#include <span>
#include <string_view>

namespace kvedit {

/// What rules see of a layer. Layers with equal facts form a class: they get one answer and one
/// proof. Names, absolute offsets, storage sizes and placements are not among the facts.
struct LayerFacts {
  const Spec* spec = nullptr;
  const Group* group = nullptr;
  std::string_view layout;
  Purpose purpose = Purpose::prefix;
  std::int64_t num_blocks = 0;
  std::int64_t slots = 1;
  std::span<const Tensor> tensors;

  /// Where the room that asks rules keeps what it made of these facts; not part of them.
  mutable std::shared_ptr<const void> prepared;
};

/// Bytes from the first element of `first` to that of `other`; 0 when their storages differ.
inline std::int64_t offset_between(const Tensor& first, const Tensor& other) {
  if (first.storage != other.storage) return 0;
  return other.storage_offset * other.dtype.itemsize - first.storage_offset * first.dtype.itemsize;
}

/// The first of the layer's tensors that lies in the storage of tensor `index`.
inline std::size_t storage_leader(std::span<const Tensor> tensors, std::size_t index) {
  std::size_t leader = 0;
  while (tensors[leader].storage != tensors[index].storage) ++leader;
  return leader;
}

bool same_facts(const LayerFacts& a, const LayerFacts& b);
std::uint64_t hash_facts(const LayerFacts& facts);

}  // namespace kvedit
