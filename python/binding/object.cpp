#include "object.hpp"

namespace kvedit::python {
namespace {

[[noreturn]] void wrong(PyObject* object, std::string_view where, std::string_view wanted) {
  throw Failed{
      {std::string(where), type_name(object) + " where " + std::string(wanted) + " is wanted"}};
}

}  // namespace

std::string type_name(PyObject* object) {
  if (object == Py_None) return "None";
  const Ref name =
      Ref::take(PyObject_GetAttrString(reinterpret_cast<PyObject*>(Py_TYPE(object)), "__name__"));
  return "a value of type " + to_text(name.get(), "");
}

Ref text(std::string_view text) {
  return Ref::take(
      PyUnicode_DecodeUTF8(text.data(), static_cast<Py_ssize_t>(text.size()), "replace"));
}

std::string to_text(PyObject* object, std::string_view where) {
  if (!PyUnicode_Check(object)) wrong(object, where, "a str");
  Py_ssize_t size = 0;
  const char* begin = PyUnicode_AsUTF8AndSize(object, &size);
  if (!begin) {
    PyErr_Clear();
    throw Failed{{std::string(where),
                  "a str with half a surrogate pair (U+D800 to U+DFFF), which UTF-8 does not have; "
                  "decode names with errors='strict' or 'replace'"}};
  }
  return std::string(begin, static_cast<std::size_t>(size));
}

std::int64_t to_integer(PyObject* object, std::string_view where) {
  if (PyBool_Check(object) || !PyIndex_Check(object)) wrong(object, where, "an int");
  const Ref index = Ref::take(PyNumber_Index(object));
  int overflow = 0;
  const long long value = PyLong_AsLongLongAndOverflow(index.get(), &overflow);
  if (overflow != 0)
    throw Failed{{std::string(where), "an int that does not fit in 64 bits with sign"}};
  if (value == -1 && PyErr_Occurred()) throw Raised{};
  return value;
}

bool to_boolean(PyObject* object, std::string_view where) {
  if (!PyBool_Check(object)) wrong(object, where, "a bool");
  return object == Py_True;
}

std::vector<std::string> to_texts(PyObject* object, std::string_view where) {
  if (PyUnicode_Check(object)) wrong(object, where, "a list of str");
  const Ref list = PyList_Check(object) ? Ref::share(object) : Ref::take(PySequence_List(object));
  std::vector<std::string> texts;
  texts.reserve(static_cast<std::size_t>(PyList_Size(list.get())));
  for (Py_ssize_t i = 0; i < PyList_Size(list.get()); ++i) {
    const auto place = [&] { return std::string(where) + "/" + std::to_string(i); };
    texts.push_back(within(place, [&] { return to_text(PyList_GetItem(list.get(), i), ""); }));
  }
  return texts;
}

}  // namespace kvedit::python
