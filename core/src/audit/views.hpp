#pragma once

#include <optional>

#include "model/edit.hpp"

namespace kvedit::audit {

/// Holds the views of a class against the definition, whoever made them: `num_blocks` entries on
/// the block axis, and for a block payload ⊆ bytes of the views ⊆ owned, no byte twice.
/// `outside-page`, `incomplete`, `overlap` or `misaligned`.
std::optional<Failure> wrong_view(const LayerClass& of);

}  // namespace kvedit::audit
