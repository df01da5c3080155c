#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace kvedit::fingerprint {

/// Hexadecimal; nothing when libcrypto has no SHA-256.
std::optional<std::string> sha256(std::string_view text);

}  // namespace kvedit::fingerprint
