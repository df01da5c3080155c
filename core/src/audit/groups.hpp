#pragma once

#include <cstdint>
#include <optional>

#include "model/edit.hpp"

namespace kvedit::audit {

/// Tokens that one block id of the group, or of one of its leaves, spans.
/// Source: docs/formats.md, `parallel`.
std::int64_t tokens_per_block(const RegistrationData& data, const Group& group, const Spec& spec);

/// Sums up each group from its layers, once it is known whether the result is ok.
void sum_up_groups(Edit& edit);

/// The least common multiple of `tokens_per_block` over served groups; nothing when it is beyond
/// 63 bits or nothing is served.
std::optional<std::int64_t> chunk_tokens(const Edit& edit);

}  // namespace kvedit::audit
