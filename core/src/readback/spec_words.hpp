#pragma once

#include <cstdint>
#include <optional>

#include <kvedit/registration.hpp>

namespace kvedit::readback {

/// What LMCache 0.5.6 takes from the specs of a group. Of a wrapper it looks at the first leaf.

/// It leaves the whole group out.
bool left_out(const Group& group);

/// Tokens it takes a block id for: it knows no `dcp_sharded`. Saturating.
std::int64_t tokens_read(const Group& group, std::int64_t dcp);

/// Tokens that a layer keeps; nothing where it keeps all. Recurrent: the last block.
std::optional<std::int64_t> window_read(const Spec& spec);

}  // namespace kvedit::readback
