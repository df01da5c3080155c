#pragma once

#include <optional>

#include "model/edit.hpp"

namespace kvedit::audit {

/// A warning when the strides of heads and tokens contradict the registration's layout: whole
/// blocks are right, but a consumer that goes by the layout takes other bytes for a token.
/// Nothing where the strides cannot tell: no layout, axes without a name, one head, as many heads
/// as tokens; nor for several tensors, which engines keep tokens first in any layout.
/// @pre the class is proved
std::optional<Failure> another_order_than_the_layout(const LayerClass& of);

}  // namespace kvedit::audit
