#pragma once

#include <cstdint>
#include <optional>

#include "reference/reading.hpp"

namespace kvedit::reference {

/// Bytes of the states of a recurrent layer, from `shapes` and `dtypes`.
std::optional<std::int64_t> state_bytes_of(const Spec& spec);

/// Tokens one block id of the group spans.
std::int64_t tokens_of(const RegistrationData& data, const Group& group, const Spec& leaf);

/// States of a page; nothing where the format leaves it to the shape of the view.
std::optional<std::int64_t> slots_of(const Subject& subject, const Reading& reading, bool window);

}  // namespace kvedit::reference
