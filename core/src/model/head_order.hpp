#pragma once

#include <kvedit/registration.hpp>

namespace kvedit {

/// How a layout orders heads and tokens inside a block; `outermost`: heads stand before blocks.
enum class HeadOrder { tokens_first, heads_first, outermost };

/// What LMCache 0.5.6 takes for the order of heads and tokens: the layout's, or without one heads
/// first where everything lies in CPU memory and tokens first elsewhere.
HeadOrder read_back_order(const RegistrationData& data);

}  // namespace kvedit
