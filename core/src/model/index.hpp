#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <kvedit/registration.hpp>

#include "base/int128.hpp"

namespace kvedit {

/// A layer of a group with its names resolved; -1 where there is nothing.
struct LayerRef {
  const std::string* name = nullptr;
  const Spec* spec = nullptr;  // the leaf
  std::int32_t group = -1;
  std::int32_t cache = -1;
  std::int32_t placement = -1;
  std::int32_t placed_storage = -1;  // of the placement
  std::int32_t twin = -1;            // earlier layer of the group with the same tensors and place
  Int128 placed_at = 0;              // where the placement puts block 0, bytes
};

/// Where a registered tensor lies.
struct TensorPlace {
  std::int32_t storage = -1;  // or -1: unknown
  std::int64_t begin = -1;    // first byte, or -1: no storage reaches there
};

/// No storage is larger, and sums of a few offsets within stay in 63 bits.
constexpr std::int64_t farthest = std::int64_t{1} << 61;

/// Resolved once, when the registration is made.
struct RegistrationIndex {
  std::vector<LayerRef> layers;              // by group and order in it
  std::vector<std::size_t> group_begin;      // [group] → its first layer; one more at the end
  std::vector<std::int32_t> ungrouped;       // caches of no group
  std::vector<TensorPlace> places;           // of all tensors of all caches
  std::vector<std::size_t> place_begin;      // [cache] → its first place
  std::vector<std::int32_t> alike_cache;     // [cache] → first with alike tensors
  std::vector<std::int32_t> alike_group;     // [group] → first with the same flags
  std::vector<const std::string*> repeated;  // named twice in groups, caches, storages

  const TensorPlace* places_of(std::int32_t cache) const {
    return places.data() + place_begin[static_cast<std::size_t>(cache)];
  }
};

}  // namespace kvedit
