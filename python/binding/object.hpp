#pragma once

#include <Python.h>

#include <concepts>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <kvedit/error.hpp>

/// Python objects in C++: owned references, conversions that throw, and the one way back.
/// Everything here runs with the interpreter held, unless it says otherwise.
namespace kvedit::python {

/// A Python exception is set.
struct Raised {};

/// Becomes `kvedit.Error`.
struct Failed {
  Error error;
};

/// An owned reference; empty after a move.
class Ref {
 public:
  Ref() = default;
  /// Takes over a reference; throws `Raised` on null.
  static Ref take(PyObject* object) {
    if (!object) throw Raised{};
    return Ref(object);
  }
  static Ref share(PyObject* object) {
    Py_XINCREF(object);
    return Ref(object);
  }
  Ref(Ref&& other) noexcept : object_(other.release()) {}
  Ref(const Ref& other) : object_(other.object_) { Py_XINCREF(object_); }
  Ref& operator=(Ref other) noexcept {
    std::swap(object_, other.object_);
    return *this;
  }
  ~Ref() { Py_XDECREF(object_); }

  PyObject* get() const { return object_; }
  PyObject* release() { return std::exchange(object_, nullptr); }
  explicit operator bool() const { return object_ != nullptr; }

 private:
  explicit Ref(PyObject* object) : object_(object) {}

  PyObject* object_ = nullptr;
};

/// Throws `Raised` when a call said that it failed.
inline void check(int status) {
  if (status < 0) throw Raised{};
}

Ref text(std::string_view text);
template <std::integral T>
Ref number(T value) {
  if constexpr (std::is_signed_v<T>)
    return Ref::take(PyLong_FromLongLong(value));
  else
    return Ref::take(PyLong_FromUnsignedLongLong(value));
}

/// A tuple of what is given, each taken over.
template <class... Refs>
Ref tuple(Refs... items) {
  Ref made = Ref::take(PyTuple_New(sizeof...(items)));
  Py_ssize_t at = 0;
  (check(PyTuple_SetItem(made.get(), at++, items.release())), ...);
  return made;
}

/// `where` names the value in the error: a JSON pointer.
std::string to_text(PyObject* object, std::string_view where);
std::int64_t to_integer(PyObject* object, std::string_view where);
bool to_boolean(PyObject* object, std::string_view where);
std::vector<std::string> to_texts(PyObject* object, std::string_view where);

/// Runs `body`, whose errors say where they are within `place()`: paths are made only then.
template <class Place, class Body>
decltype(auto) within(Place place, Body body) {
  try {
    return body();
  } catch (Failed& failed) {
    failed.error.where = place() + failed.error.where;
    throw;
  }
}

/// Item of a tuple that is known to be long enough; borrowed.
inline PyObject* item(PyObject* tuple, Py_ssize_t at) {
  PyObject* found = PyTuple_GetItem(tuple, at);
  if (!found) throw Raised{};
  return found;
}

/// "a str", "a list": for messages about a value of the wrong type.
std::string type_name(PyObject* object);

/// Lets other threads run while it lives. No Python object may be touched.
class Unlocked {
 public:
  Unlocked() : state_(PyEval_SaveThread()) {}
  ~Unlocked() { PyEval_RestoreThread(state_); }
  Unlocked(const Unlocked&) = delete;
  Unlocked& operator=(const Unlocked&) = delete;

 private:
  PyThreadState* state_;
};

}  // namespace kvedit::python
