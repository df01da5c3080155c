#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "model/edit.hpp"
#include "model/index.hpp"

namespace kvedit::audit {

/// The grouped layer whose bytes a cache of no group uses, or nothing.
std::optional<std::string_view> shares_with(const Edit& edit, std::int32_t cache);

}  // namespace kvedit::audit
