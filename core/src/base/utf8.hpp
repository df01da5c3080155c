#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>

namespace kvedit {

namespace utf8_detail {

/// Bytes of the well-formed sequence at the start of `text` (RFC 3629), or 0.
inline std::size_t sequence(std::string_view text) {
  const auto byte = [&](std::size_t i) { return static_cast<std::uint8_t>(text[i]); };
  const std::uint8_t lead = byte(0);
  if (lead < 0x80) return 1;
  const std::size_t size = lead >= 0xF0 ? 4 : lead >= 0xE0 ? 3 : 2;
  if (lead < 0xC2 || lead > 0xF4 || text.size() < size) return 0;
  // The second byte excludes overlong forms, surrogates and what lies beyond U+10FFFF.
  const std::uint8_t low = lead == 0xE0 ? 0xA0 : lead == 0xF0 ? 0x90 : 0x80;
  const std::uint8_t high = lead == 0xED ? 0x9F : lead == 0xF4 ? 0x8F : 0xBF;
  if (byte(1) < low || byte(1) > high) return 0;
  for (std::size_t i = 2; i < size; ++i)
    if (byte(i) < 0x80 || byte(i) > 0xBF) return 0;
  return size;
}

}  // namespace utf8_detail

/// Bytes of the well-formed sequence at the start of `text`, or 0 when there is none.
inline std::size_t utf8_sequence(std::string_view text) {
  return text.empty() ? 0 : utf8_detail::sequence(text);
}

inline bool valid_utf8(std::string_view text) {
  while (!text.empty()) {
    // Eight bytes of ASCII at once.
    if (std::uint64_t word = 0; text.size() >= sizeof word) {
      std::memcpy(&word, text.data(), sizeof word);
      if ((word & 0x8080'8080'8080'8080) == 0) {
        text.remove_prefix(sizeof word);
        continue;
      }
    }
    const std::size_t size = utf8_detail::sequence(text);
    if (size == 0) return false;
    text.remove_prefix(size);
  }
  return true;
}

}  // namespace kvedit
