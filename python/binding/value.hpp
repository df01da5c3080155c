#pragma once

#include <string>

#include <kvedit/spec.hpp>

#include "object.hpp"

namespace kvedit::python {

/// @param type    class name
/// @param bases   their names, most derived first
/// @param fields  dict of name → value
Spec to_spec(PyObject* type, PyObject* bases, PyObject* fields, const std::string& where);

}  // namespace kvedit::python
