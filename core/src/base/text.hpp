#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <type_traits>

#include "base/int128.hpp"

namespace kvedit {

inline void append(std::string& to, std::string_view text) { to += text; }

template <class T>
requires std::is_integral_v<T>
void append(std::string& to, T number) { to += std::to_string(number); }

inline void append(std::string& to, Int128 number) {
  if (number < 0) to += '-';
  std::string digits;
  do {
    const int digit = static_cast<int>(number % 10);
    digits.insert(digits.begin(), static_cast<char>('0' + (digit < 0 ? -digit : digit)));
    number /= 10;
  } while (number != 0);
  to += digits;
}

/// The parts one after the other: strings and integers.
template <class... T>
std::string text(const T&... parts) {
  std::string all;
  (append(all, parts), ...);
  return all;
}

}  // namespace kvedit
