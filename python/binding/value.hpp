#pragma once

#include <string>

#include <kvedit/spec.hpp>

#include "object.hpp"

namespace kvedit::python {

/// @param given  tuple (class name, names of bases, dict of fields)
Spec to_spec(PyObject* given, const std::string& where);

}  // namespace kvedit::python
