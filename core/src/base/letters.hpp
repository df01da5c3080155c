#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <string>
#include <string_view>

#include "base/utf8.hpp"

namespace kvedit {

/// The letter at the start of a text that is not empty.
struct Letter {
  std::size_t size = 1;    // bytes
  char32_t code = 0;       // its number; of a byte that is no UTF-8 the byte itself
  bool valid = false;      // well-formed UTF-8
  bool surrogate = false;  // half a pair, as lenient writers put it into UTF-8; not valid
};

inline Letter letter_of(std::string_view text) {
  const auto byte = [&](std::size_t i) {
    return char32_t{static_cast<unsigned char>(i < text.size() ? text[i] : 0)};
  };
  const auto tail = [&](std::size_t i) { return byte(i) & 0x3f; };
  const std::size_t size = utf8_sequence(text);
  switch (size) {
    case 2:
      return {2, (byte(0) & 0x1f) << 6 | tail(1), true};
    case 3:
      return {3, (byte(0) & 0x0f) << 12 | tail(1) << 6 | tail(2), true};
    case 4:
      return {4, (byte(0) & 0x07) << 18 | tail(1) << 12 | tail(2) << 6 | tail(3), true};
    default:
      break;
  }
  if (byte(0) == 0xed && byte(1) >= 0xa0 && byte(1) <= 0xbf && (byte(2) & 0xc0) == 0x80)
    return {3, char32_t{0xd000} | tail(1) << 6 | tail(2), false, true};
  return {1, byte(0), size == 1};
}

/// Letters that a terminal obeys, or that show nothing and change how others are shown: controls,
/// line separators, format characters (categories Cc, Cf, Zl, Zp of Unicode 15; tags as a whole).
inline bool unseen(char32_t code) {
  struct Span {
    char32_t first, last;
  };
  constexpr std::array spans = {
      Span{0x00, 0x1f},       Span{0x7f, 0x9f},       Span{0xad, 0xad},
      Span{0x600, 0x605},     Span{0x61c, 0x61c},     Span{0x6dd, 0x6dd},
      Span{0x70f, 0x70f},     Span{0x890, 0x891},     Span{0x8e2, 0x8e2},
      Span{0x180e, 0x180e},   Span{0x200b, 0x200f},   Span{0x2028, 0x202e},
      Span{0x2060, 0x206f},   Span{0xfeff, 0xfeff},   Span{0xfff9, 0xfffb},
      Span{0x110bd, 0x110bd}, Span{0x110cd, 0x110cd}, Span{0x13430, 0x1343f},
      Span{0x1bca0, 0x1bca3}, Span{0x1d173, 0x1d17a}, Span{0xe0000, 0xe0fff},
  };
  return std::any_of(spans.begin(), spans.end(),
                     [code](const Span& span) { return span.first <= code && code <= span.last; });
}

/// Lower case hexadecimal.
inline void append_hex(std::string& to, char32_t number, int digits) {
  for (int shift = 4 * (digits - 1); shift >= 0; shift -= 4)
    to += "0123456789abcdef"[(number >> shift) & 15];
}

}  // namespace kvedit
