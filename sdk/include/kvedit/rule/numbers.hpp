/// Arithmetic on numbers of a registration, which may be anything.
#pragma once

#include <cstdint>
#include <cstring>
#include <limits>

#pragma GCC visibility push(hidden)
namespace kvedit::rule::detail {

constexpr std::int64_t most = std::numeric_limits<std::int64_t>::max();
constexpr std::int64_t least = std::numeric_limits<std::int64_t>::min();

/// a · b, or the nearest number there is.
inline std::int64_t times(std::int64_t a, std::int64_t b) noexcept {
  std::int64_t product = 0;
  if (!__builtin_mul_overflow(a, b, &product)) return product;
  return (a < 0) == (b < 0) ? most : least;
}

/// a + b, or the nearest number there is.
inline std::int64_t plus(std::int64_t a, std::int64_t b) noexcept {
  std::int64_t sum = 0;
  if (!__builtin_add_overflow(a, b, &sum)) return sum;
  return b < 0 ? least : most;
}

/// a − b, or the nearest number there is.
inline std::int64_t minus(std::int64_t a, std::int64_t b) noexcept {
  std::int64_t difference = 0;
  if (!__builtin_sub_overflow(a, b, &difference)) return difference;
  return b < 0 ? most : least;
}

inline std::int64_t size(std::int64_t a) noexcept { return a < 0 ? minus(0, a) : a; }

/// As much of `from` as both its own `struct_size` and `limit` say is there, over the defaults in
/// `into`. Fields come in pairs of eight bytes, so half a field is never taken.
template <class Struct>
void take(Struct& into, const Struct* from, std::uint64_t limit = sizeof(Struct)) noexcept {
  std::uint64_t size = limit < sizeof(Struct) ? limit : sizeof(Struct);
  if (size < sizeof from->struct_size) return;
  if (from->struct_size < size) size = from->struct_size;
  std::memcpy(&into, from, static_cast<std::size_t>(size & ~std::uint64_t{7}));
}

/// Element `index` of an array with its own stride.
template <class Struct>
const Struct* element(const Struct* first, std::uint64_t stride, std::uint64_t index) noexcept {
  return reinterpret_cast<const Struct*>(reinterpret_cast<const char*>(first) + stride * index);
}

}  // namespace kvedit::rule::detail
#pragma GCC visibility pop
