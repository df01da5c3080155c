/// A spec field as the engine gave it.
#pragma once

#include <kvedit/rule_abi.h>

#include <cstddef>
#include <cstdint>
#include <string_view>

#pragma GCC visibility push(hidden)
namespace kvedit::rule {

namespace detail {

inline std::string_view view(const kvedit_text& text) noexcept {
  if (text.data == nullptr) return {};
  return {text.data, static_cast<std::size_t>(text.size)};
}

}  // namespace detail

/// A look at a field; of a field that is not there, or of an item beyond the list, a null.
/// The `as_…` give `otherwise` when the value is of another kind.
class Value {
 public:
  Value() noexcept = default;
  explicit Value(const kvedit_value& value) noexcept : value_(&value) {}

  bool is_null() const noexcept { return kind() == KVEDIT_VALUE_NULL; }
  bool is_bool() const noexcept { return kind() == KVEDIT_VALUE_BOOLEAN; }
  bool is_int() const noexcept { return kind() == KVEDIT_VALUE_INTEGER; }
  bool is_real() const noexcept { return kind() == KVEDIT_VALUE_REAL; }
  bool is_text() const noexcept { return kind() == KVEDIT_VALUE_TEXT; }
  bool is_list() const noexcept { return kind() == KVEDIT_VALUE_LIST; }
  bool is_json() const noexcept { return kind() == KVEDIT_VALUE_JSON; }

  bool as_bool(bool otherwise = false) const noexcept {
    return is_bool() ? value_->integer != 0 : otherwise;
  }
  std::int64_t as_int(std::int64_t otherwise = 0) const noexcept {
    return is_int() ? value_->integer : otherwise;
  }
  /// Of an integer too.
  double as_real(double otherwise = 0) const noexcept {
    if (is_int()) return static_cast<double>(value_->integer);
    return is_real() ? value_->real : otherwise;
  }
  std::string_view as_text(std::string_view otherwise = {}) const noexcept {
    return is_text() ? detail::view(value_->text) : otherwise;
  }
  /// Objects, and numbers that fit no 64-bit integer, come as their JSON text.
  std::string_view as_json(std::string_view otherwise = {}) const noexcept {
    return is_json() ? detail::view(value_->text) : otherwise;
  }

  /// Items of a list; 0 of anything else.
  std::size_t size() const noexcept {
    if (!is_list() || value_->items == nullptr) return 0;
    return static_cast<std::size_t>(value_->item_count);
  }
  Value operator[](std::size_t item) const noexcept {
    return item < size() ? Value(value_->items[item]) : Value();
  }

 private:
  std::uint32_t kind() const noexcept {
    return value_ == nullptr ? KVEDIT_VALUE_NULL : value_->kind;
  }

  const kvedit_value* value_ = nullptr;
};

/// A positive rational; `{1, 4}` tokens for each state are four states for each token.
struct Ratio {
  std::int64_t numerator = 1;
  std::int64_t denominator = 1;
};

}  // namespace kvedit::rule
#pragma GCC visibility pop
