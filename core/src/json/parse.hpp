#pragma once

#include <string>
#include <string_view>

#include <kvedit/error.hpp>
#include <kvedit/json.hpp>

#include "json/document.hpp"

namespace kvedit {

/// Parses JSON and refuses what readers disagree about: duplicate keys, invalid UTF-8, numbers that
/// a 64-bit integer or a double does not hold. The error's `where` is the pointer that was reached.
Expected<Document> parse_json(std::string_view text, const ReadLimits& limits);

/// The beginning of a text from the input, in quotes, for messages.
std::string excerpt(std::string_view text);

}  // namespace kvedit
