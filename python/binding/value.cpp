#include "value.hpp"

#include <cmath>
#include <limits>

namespace kvedit::python {
namespace {

std::string json_of(PyObject* object, const std::string& where) {
  const Ref json = Ref::take(PyImport_ImportModule("json"));
  const Ref made = Ref::take(PyObject_CallMethod(json.get(), "dumps", "O", object));
  return to_text(made.get(), where);
}

Value integer_value(PyObject* object, const std::string& where) {
  int overflow = 0;
  const long long value = PyLong_AsLongLongAndOverflow(object, &overflow);
  if (value == -1 && overflow == 0 && PyErr_Occurred()) throw Raised{};
  if (overflow == 0) return Value::of(static_cast<std::int64_t>(value));
  if (overflow > 0) {
    const unsigned long long large = PyLong_AsUnsignedLongLong(object);
    if (!PyErr_Occurred()) return Value::json(std::to_string(large));
    PyErr_Clear();
  }
  throw Failed{{where, "an int that does not fit in 64 bits"}};
}

Value list_value(PyObject* object, const std::string& where, int depth) {
  if (depth <= 0) throw Failed{{where, "lists in lists deeper than 60 levels"}};
  std::vector<Value> items;
  const Py_ssize_t size = PySequence_Size(object);
  check(static_cast<int>(size < 0 ? -1 : 0));
  for (Py_ssize_t i = 0; i < size; ++i) {
    const Ref each = Ref::take(PySequence_GetItem(object, i));
    items.push_back(to_value(each.get(), where + "/" + std::to_string(i), depth - 1));
  }
  return Value::of(std::move(items));
}

}  // namespace

Value to_value(PyObject* object, const std::string& where, int depth) {
  if (object == Py_None) return {};
  if (PyBool_Check(object)) return Value::of(object == Py_True);
  if (PyLong_Check(object)) return integer_value(object, where);
  if (PyUnicode_Check(object)) return Value::of(std::string_view(to_text(object, where)));
  if (PyList_Check(object) || PyTuple_Check(object)) return list_value(object, where, depth);
  if (PyDict_Check(object)) return Value::json(json_of(object, where));
  if (PyFloat_Check(object)) {
    const double value = PyFloat_AsDouble(object);
    if (std::isfinite(value)) return Value::of(value);
    throw Failed{{where, "a float that is not finite"}};
  }
  throw Failed{{where, type_name(object) + ", which is no value of a spec field"}};
}

Spec to_spec(PyObject* given, const std::string& where) {
  std::vector<Attribute> attributes;
  PyObject* fields = item(given, 2);
  PyObject *name = nullptr, *value = nullptr;
  Py_ssize_t at = 0;
  attributes.reserve(static_cast<std::size_t>(PyDict_Size(fields)));
  while (PyDict_Next(fields, &at, &name, &value)) {
    std::string field = to_text(name, where);
    Value read = to_value(value, where + "/" + field);
    attributes.push_back({std::move(field), std::move(read)});
  }
  Expected<Spec> spec =
      make_spec(to_text(item(given, 0), where + "/type"),
                to_texts(item(given, 1), where + "/bases"), std::move(attributes));
  if (!spec) throw Failed{{where + "/" + spec.error().where, spec.error().message}};
  return *std::move(spec);
}

}  // namespace kvedit::python
