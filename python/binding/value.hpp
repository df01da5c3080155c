#pragma once

#include <string>

#include <kvedit/spec.hpp>
#include <kvedit/value.hpp>

#include "object.hpp"

namespace kvedit::python {

/// None, bool, int, float, str, lists and tuples of these; a dict becomes its JSON text.
/// @param depth  how many more levels of lists may follow
Value to_value(PyObject* object, const std::string& where, int depth = 60);

/// @param given  tuple (class name, names of bases, dict of fields)
Spec to_spec(PyObject* given, const std::string& where);

}  // namespace kvedit::python
