#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include <kvedit/result.hpp>

#include "model/index.hpp"

namespace kvedit::audit {

struct Kept {
  Retention retention = Retention::full;
  std::optional<std::int64_t> window_tokens;  // of `window`
};

/// How long the blocks of a group are kept: as the specs of its layers say, or its own where it has
/// none. Layers that differ are kept as long as the one that needs most.
Kept retention_of(const Spec& own, std::span<const LayerRef> layers);

}  // namespace kvedit::audit
