#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace kvedit::fuzz {

/// Choices taken from a fuzzer's bytes; zeros when they are used up.
class Bytes {
 public:
  explicit Bytes(std::string_view bytes) : bytes_(bytes) {}

  bool empty() const { return at_ >= bytes_.size(); }
  std::uint8_t next() { return empty() ? 0 : static_cast<std::uint8_t>(bytes_[at_++]); }
  std::size_t below(std::size_t count) { return count == 0 ? 0 : next() % count; }

  /// Mostly small, sometimes at the edge of what 64 bits hold.
  std::int64_t number() {
    const std::uint8_t how = next();
    if (how < 160) return how % 40;
    const std::uint64_t power = std::uint64_t{1} << (next() % 64);
    if (how < 190) return static_cast<std::int64_t>(power);
    if (how < 210) return static_cast<std::int64_t>(power - 1);
    if (how < 225) return -static_cast<std::int64_t>(next());
    if (how < 235) return INT64_MAX - next() % 4;
    if (how < 240) return INT64_MIN + next() % 4;
    std::uint64_t all = 0;
    for (int i = 0; i < 8; ++i) all = all << 8 | next();
    return static_cast<std::int64_t>(all);
  }

  /// A number near the one that is there.
  std::int64_t near(std::int64_t value) {
    const auto as_is = static_cast<std::uint64_t>(value);
    switch (next() % 7) {
      case 0:
        return static_cast<std::int64_t>(as_is + 1);
      case 1:
        return static_cast<std::int64_t>(as_is - 1);
      case 2:
        return static_cast<std::int64_t>(as_is * 2);
      case 3:
        return value / 2;
      case 4:
        return static_cast<std::int64_t>(as_is * 3);
      case 5:
        return static_cast<std::int64_t>(std::uint64_t{0} - as_is);
      default:
        return number();
    }
  }

 private:
  std::string_view bytes_;
  std::size_t at_ = 0;
};

}  // namespace kvedit::fuzz
