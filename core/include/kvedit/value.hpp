#pragma once

#include <algorithm>
#include <concepts>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace kvedit {

/// A spec field as the engine gave it. JSON objects, and numbers that fit no 64-bit integer, are
/// kept as JSON text.
struct Value {
  enum class Kind : std::uint32_t { null, boolean, integer, real, text, list, json };

  Kind kind = Kind::null;
  std::int64_t integer = 0;  ///< also a boolean: 0 or 1
  double real = 0;           ///< finite
  std::string text;          ///< UTF-8; for `json` the JSON text
  std::vector<Value> items;

  static Value of(bool value) { return {Kind::boolean, value ? 1 : 0, 0, {}, {}}; }
  template <std::signed_integral T>
  static Value of(T value) {
    return {Kind::integer, value, 0, {}, {}};
  }
  static Value of(double value) { return {Kind::real, 0, value, {}, {}}; }
  static Value of(std::string_view value) { return {Kind::text, 0, 0, std::string(value), {}}; }
  static Value of(const char* value) { return of(std::string_view(value)); }
  static Value of(std::vector<Value> value) { return {Kind::list, 0, 0, {}, std::move(value)}; }
  static Value json(std::string value) { return {Kind::json, 0, 0, std::move(value), {}}; }

  bool operator==(const Value&) const = default;
};

/// A named spec field.
struct Attribute {
  std::string name;
  Value value;

  bool operator==(const Attribute&) const = default;
};

/// The fields of a spec as the engine gave them, in its order. Cannot be changed; copies share
/// them.
class Attributes {
 public:
  Attributes() = default;
  Attributes(std::vector<Attribute> fields)
      : fields_(std::make_shared<const std::vector<Attribute>>(std::move(fields))) {}

  const Attribute* begin() const { return fields_ ? fields_->data() : nullptr; }
  const Attribute* end() const { return begin() + size(); }
  std::size_t size() const { return fields_ ? fields_->size() : 0; }
  const Attribute& operator[](std::size_t index) const { return begin()[index]; }

  bool operator==(const Attributes& other) const {
    return fields_ == other.fields_ || std::equal(begin(), end(), other.begin(), other.end());
  }

 private:
  std::shared_ptr<const std::vector<Attribute>> fields_;
};

}  // namespace kvedit
