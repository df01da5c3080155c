#pragma once

#include <optional>
#include <string>

#include "model/edit.hpp"

namespace kvedit::fingerprint {

/// What gives the stored bytes of one group their meaning, as text (docs/fingerprint.md). Nothing
/// when the edit is not ok, or nothing of the group is stored.
std::optional<std::string> group_text(const Edit& edit, std::size_t group);

/// "kvx1-" and the first 128 bits of the text's SHA-256.
std::optional<std::string> fingerprint_of(const std::optional<std::string>& text);

}  // namespace kvedit::fingerprint
