#include "value.hpp"

#include <cmath>
#include <limits>

namespace kvedit::python {
namespace {

std::string json_of(PyObject* object) {
  const Ref json = Ref::take(PyImport_ImportModule("json"));
  const Ref made = Ref::take(PyObject_CallMethod(json.get(), "dumps", "O", object));
  return to_text(made.get(), "");
}

Value integer_value(PyObject* object) {
  int overflow = 0;
  const long long value = PyLong_AsLongLongAndOverflow(object, &overflow);
  if (value == -1 && overflow == 0 && PyErr_Occurred()) throw Raised{};
  if (overflow == 0) return Value::of(static_cast<std::int64_t>(value));
  if (overflow > 0) {
    const unsigned long long large = PyLong_AsUnsignedLongLong(object);
    if (!PyErr_Occurred()) return Value::json(std::to_string(large));
    PyErr_Clear();
  }
  throw Failed{{"", "an int that does not fit in 64 bits"}};
}

constexpr int deepest = 60;

// None, bool, int, float, str, lists and tuples of these; a dict becomes its JSON text.
// What fails is told from here: "/1" in a list.
Value to_value(PyObject* object, int depth = deepest);

Value list_value(PyObject* object, int depth) {
  if (depth <= 0) throw Failed{{"", "lists in lists deeper than 60 levels"}};
  std::vector<Value> items;
  const Py_ssize_t size = PySequence_Size(object);
  check(static_cast<int>(size < 0 ? -1 : 0));
  for (Py_ssize_t i = 0; i < size; ++i) {
    const Ref each = Ref::take(PySequence_GetItem(object, i));
    items.push_back(within([i] { return "/" + std::to_string(i); },
                           [&] { return to_value(each.get(), depth - 1); }));
  }
  return Value::of(std::move(items));
}

Value to_value(PyObject* object, int depth) {
  if (object == Py_None) return {};
  if (PyBool_Check(object)) return Value::of(object == Py_True);
  if (PyLong_Check(object)) return integer_value(object);
  if (PyUnicode_Check(object)) return Value::of(std::string_view(to_text(object, "")));
  if (PyList_Check(object) || PyTuple_Check(object)) return list_value(object, depth);
  if (PyDict_Check(object)) return Value::json(json_of(object));
  if (PyFloat_Check(object)) {
    const double value = PyFloat_AsDouble(object);
    if (std::isfinite(value)) return Value::of(value);
    throw Failed{{"", "a float that is not finite"}};
  }
  throw Failed{{"", type_name(object) + ", which is no value of a spec field"}};
}

std::vector<Attribute> to_attributes(PyObject* fields) {
  std::vector<Attribute> attributes;
  PyObject *name = nullptr, *value = nullptr;
  Py_ssize_t at = 0;
  attributes.reserve(static_cast<std::size_t>(PyDict_Size(fields)));
  while (PyDict_Next(fields, &at, &name, &value)) {
    std::string field = to_text(name, "");
    Value read = within([&] { return "/" + field; },
                        [&, value = value] { return to_value(value, deepest); });
    attributes.push_back({std::move(field), std::move(read)});
  }
  return attributes;
}

}  // namespace

Spec to_spec(PyObject* type, PyObject* bases, PyObject* fields, const std::string& where) {
  std::vector<Attribute> attributes =
      within([&] { return where; }, [&] { return to_attributes(fields); });
  Expected<Spec> spec = make_spec(to_text(type, where + "/type"), to_texts(bases, where + "/bases"),
                                  std::move(attributes));
  if (!spec) throw Failed{{where + "/" + spec.error().where, spec.error().message}};
  return *std::move(spec);
}

}  // namespace kvedit::python
