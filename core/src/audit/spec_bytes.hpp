#pragma once

#include <optional>

#include "model/edit.hpp"

namespace kvedit::audit {

/// A warning when heads, head size and dtype of a plain attention spec make another page than the
/// spec's own: then `block_size`, and tokens and slots that follow from it, may be another page's.
/// Nothing where the spec leaves room for anything else (quantised, packed, compressed, of a class
/// with a page formula of its own).
std::optional<Failure> other_bytes_than_the_spec_makes(const LayerFacts& facts);

}  // namespace kvedit::audit
