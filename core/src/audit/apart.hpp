#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "audit/overlays.hpp"
#include "model/edit.hpp"

namespace kvedit::audit {

/// From where to where a layer owns bytes of a storage.
struct Stretch {
  std::int64_t begin = 0;
  std::int64_t end = 0;
};

/// Two layers of one group that own a byte in common.
struct Shared {
  std::size_t layer = 0;  // index into the edit's layers
  std::size_t other = 0;  // an earlier one
  bool decided = true;    // false: they could not be shown apart
  std::int32_t storage = 0;
  Stretch stretch;
  Stretch other_stretch;
};

/// Which layers of a group own bytes of each other's blocks. `layers` are proved layers of one
/// group; layers of different groups may overlay each other and are never compared.
/// @param steps     bounds the work of all calls of one edit and is counted down
/// @param overlays  told where the layers lie; may be null
std::optional<Shared> shared(const Edit& edit, std::span<const std::size_t> layers,
                             std::int64_t& steps, Overlays* overlays = nullptr);

}  // namespace kvedit::audit
