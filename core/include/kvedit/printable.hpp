#pragma once

#include <string>
#include <string_view>

#include <kvedit/export.hpp>

namespace kvedit {

/// Foreign text as it may be shown on a terminal or put into a log: names in a registration, paths
/// and what rule packs say can hold anything. Controls, line breaks and format characters (those
/// that turn the direction of writing, say) are written as `\x1b` (below 0x80), `\u202e` or
/// `\U000e0001`, halves of surrogate pairs as `\ud800`, bytes that are no UTF-8 as `\xff`. All else
/// stays, backslashes too, so that doing it twice changes nothing more. Any bytes are fine; what
/// comes out is UTF-8.
KVEDIT_API std::string printable(std::string_view text);

}  // namespace kvedit
