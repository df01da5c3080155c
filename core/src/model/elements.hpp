#pragma once

#include <cstdint>
#include <optional>

#include <kvedit/dtype.hpp>
#include <kvedit/spec.hpp>

namespace kvedit {

/// Kinds that keep one latent for each state in place of K and V of heads.
bool is_latent(const Spec& spec);

/// `dtype` of the spec, where it gives one that is known.
std::optional<DType> dtype_of(const Spec& spec);

/// Bytes of K and V of one head and state by head sizes and dtype; nothing when the spec does not
/// give them.
std::optional<std::int64_t> content_bytes(const Spec& spec);

/// Every element of K and V is a number by itself, in the spec's own dtype: no scales beside it
/// (`kv_quant_mode`; one scale for a whole tensor lies elsewhere), no packed format
/// (`cache_dtype_str`, `tq_slot_size`), no content of another size (`state_content_bytes`,
/// `state_content_size_bytes`).
bool plain_elements(const Spec& spec);

}  // namespace kvedit
