#pragma once

#include <cassert>
#include <string>
#include <utility>
#include <variant>

namespace kvedit {

/// Why something could not be had: input that cannot be read, or options that cannot be met.
/// A registration that can be read but is wrong is no `Error`: it is a `Problem` in the `Result`.
struct Error {
  std::string where;    ///< JSON pointer, path or option; empty when there is none
  std::string message;  ///< one sentence with the numbers and what to do

  std::string text() const { return where.empty() ? message : where + ": " + message; }
};

/// A value, or the reason why there is none. Reading the side that is not there is a bug of the
/// caller and asserts.
template <class T>
class [[nodiscard]] Expected {
 public:
  Expected(T value) : state_(std::in_place_index<0>, std::move(value)) {}
  Expected(Error error) : state_(std::in_place_index<1>, std::move(error)) {}

  bool has_value() const { return state_.index() == 0; }
  explicit operator bool() const { return has_value(); }

  T& value() & { return *get(); }
  const T& value() const& { return *get(); }
  T&& value() && { return std::move(*get()); }
  T& operator*() & { return *get(); }
  const T& operator*() const& { return *get(); }
  T&& operator*() && { return std::move(*get()); }
  T* operator->() { return get(); }
  const T* operator->() const { return get(); }

  const Error& error() const {
    const Error* error = std::get_if<1>(&state_);
    assert(error);
    if (!error) __builtin_unreachable();
    return *error;
  }

 private:
  T* get() {
    T* value = std::get_if<0>(&state_);
    assert(value);
    if (!value) __builtin_unreachable();
    return value;
  }
  const T* get() const {
    const T* value = std::get_if<0>(&state_);
    assert(value);
    if (!value) __builtin_unreachable();
    return value;
  }

  std::variant<T, Error> state_;
};

}  // namespace kvedit
