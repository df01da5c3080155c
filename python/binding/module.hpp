#pragma once

#include <exception>
#include <new>
#include <optional>

#include <kvedit/host.hpp>
#include <kvedit/registration.hpp>
#include <kvedit/result.hpp>

#include "object.hpp"

namespace kvedit::python {

/// What one interpreter's copy of the module owns.
struct State {
  PyObject* spec_type;
  PyObject* registration_type;
  PyObject* host_type;
  PyObject* result_type;
  PyObject* addresses_type;
  PyObject* error;  ///< class kvedit.Error
};

State& state_of(PyObject* module);
/// Of an instance of one of the module's types.
State& state_of_instance(PyObject* self);

/// Sets `kvedit.Error`.
void raise(const State& state, const Error& error);

/// Runs `body` and gives its object, or null with a Python exception set: nothing else comes out.
template <class Body>
PyObject* guarded(const State& state, Body body) noexcept {
  try {
    return body().release();
  } catch (const Raised&) {
  } catch (const Failed& failed) {
    raise(state, failed.error);
  } catch (const std::bad_alloc&) {
    PyErr_NoMemory();
  } catch (const std::exception& error) {
    PyErr_SetString(PyExc_SystemError, error.what());
  }
  return nullptr;
}

/// A Python object that holds one C++ value; made by `wrap`, never by calling its type.
template <class T>
struct Box {
  PyObject ob_base;
  std::optional<T> value;
};

template <class T>
T& unwrap(PyObject* self) {
  return *reinterpret_cast<Box<T>*>(self)->value;
}

template <class T>
Ref new_box(PyObject* type) {
  auto* of = reinterpret_cast<PyTypeObject*>(type);
  const auto allocate = reinterpret_cast<allocfunc>(PyType_GetSlot(of, Py_tp_alloc));
  Ref made = Ref::take(allocate(of, 0));
  new (&reinterpret_cast<Box<T>*>(made.get())->value) std::optional<T>();
  return made;
}

template <class T>
Ref wrap(PyObject* type, T value) {
  Ref made = new_box<T>(type);
  reinterpret_cast<Box<T>*>(made.get())->value.emplace(std::move(value));
  return made;
}

template <class T>
void destroy(PyObject* self) {
  PyTypeObject* type = Py_TYPE(self);
  using Value = std::optional<T>;
  reinterpret_cast<Box<T>*>(self)->value.~Value();
  reinterpret_cast<freefunc>(PyType_GetSlot(type, Py_tp_free))(self);
  Py_DECREF(type);
}

/// Adds the file's type to the state and its functions to the module.
void add_spec(PyObject* module, State& state);
void add_registration(PyObject* module, State& state);
void add_host(PyObject* module, State& state);
void add_result(PyObject* module, State& state);
void add_addresses(PyObject* module, State& state);

Ref make_type(PyObject* module, PyType_Spec& spec);

}  // namespace kvedit::python
