#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

namespace kvedit::verify {

/// Bytes that say where they belong: every 8 bytes differ between keys and positions.
class Pattern {
 public:
  explicit Pattern(std::uint64_t key, std::uint64_t second = 0, std::uint64_t third = 0)
      : key_(mix(mix(mix(key + 1) ^ second) ^ third)) {}

  void paint(std::span<std::byte> to, std::uint64_t position) const {
    paint_part(to, position);  // up to the next whole word
    std::size_t at = std::min<std::size_t>(to.size(), (8 - position % 8) % 8);
    for (std::uint64_t word = (position + at) / 8; at + 8 <= to.size(); ++word, at += 8) {
      const std::uint64_t bytes = mix(key_ ^ word);
      std::memcpy(to.data() + at, &bytes, sizeof bytes);
    }
    paint_part(to.subspan(at), position + at);
  }

  /// How many bytes lie in words that are right as a whole: single bytes are right by chance.
  std::int64_t count_right(std::span<const std::byte> bytes, std::uint64_t position) const {
    std::int64_t right = 0;
    while (!bytes.empty()) {
      const std::uint64_t word = mix(key_ ^ position / 8);
      const std::size_t skip = position % 8;
      const std::size_t count = std::min(8 - skip, bytes.size());
      if (std::memcmp(bytes.data(), reinterpret_cast<const std::byte*>(&word) + skip, count) == 0)
        right += static_cast<std::int64_t>(count);
      bytes = bytes.subspan(count);
      position += count;
    }
    return right;
  }

  /// splitmix64
  static std::uint64_t mix(std::uint64_t x) {
    x += 0x9e3779b97f4a7c15u;
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
    return x ^ (x >> 31);
  }

 private:
  void paint_part(std::span<std::byte> to, std::uint64_t position) const {
    const std::uint64_t word = mix(key_ ^ position / 8);
    const std::size_t skip = position % 8;
    const std::size_t count = std::min(8 - skip, to.size());
    if (count > 0) std::memcpy(to.data(), reinterpret_cast<const std::byte*>(&word) + skip, count);
  }

  std::uint64_t key_;
};

}  // namespace kvedit::verify
