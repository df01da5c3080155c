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
  std::int64_t place_in = 0;  // position in the placement's layers
};

/// Resolved once, when the registration is made.
struct RegistrationIndex {
  std::vector<LayerRef> layers;          // by group and order in it
  std::vector<std::size_t> group_begin;  // [group] → its first layer; one more at the end
  std::vector<std::int32_t> ungrouped;   // caches of no group
  std::vector<std::vector<std::int32_t>> storage_of;  // [cache][tensor] → storage, or -1
  std::vector<std::int32_t> alike_cache;              // [cache] → first with alike tensors
  std::vector<std::int32_t> alike_group;              // [group] → first with the same flags
  std::vector<const std::string*> repeated;           // named twice in groups, caches, storages
};

/// Where the placement puts block 0 of the layer.
Int128 placed_at(const RegistrationData& data, const LayerRef& layer);

}  // namespace kvedit
