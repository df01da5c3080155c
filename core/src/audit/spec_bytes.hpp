#pragma once

#include <optional>

#include "model/edit.hpp"

namespace kvedit::audit {

/// A warning when heads, head size and dtype of a plain attention spec make another page than the
/// spec's own: then `block_size`, and tokens and slots that follow from it, may be another page's.
/// Nothing where the spec leaves room for anything else (quantised, packed, compressed, of a class
/// with a page formula of its own).
std::optional<Failure> other_bytes_than_the_spec_makes(const LayerFacts& facts);

/// A warning when padding is declared without an unpadded size, so that nothing but `num_blocks`
/// says how many entries make a block, and a block so made has a whole number of times the bytes
/// that heads, head size, dtype and states of the spec make: `num_blocks` is then another tensor's.
/// Nothing where the spec does not tell these bytes.
/// @pre the class is proved
std::optional<Failure> another_number_of_blocks(const LayerClass& of);

}  // namespace kvedit::audit
