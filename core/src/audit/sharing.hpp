#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "model/edit.hpp"
#include "model/index.hpp"

namespace kvedit::audit {

/// For each layer of a group the earlier layer of the group that has the same tensors at the same
/// place, or -1; -1 where a placement says otherwise. Numbers count the registration's layers.
std::vector<std::int32_t> twins(const RegistrationData& data, const RegistrationIndex& index,
                                std::size_t group);

/// The grouped layer whose bytes a cache of no group uses, or nothing.
std::optional<std::string_view> shares_with(const Edit& edit, std::int32_t cache);

}  // namespace kvedit::audit
