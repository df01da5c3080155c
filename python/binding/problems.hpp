#pragma once

#include <span>

#include <kvedit/problem.hpp>

#include "object.hpp"

namespace kvedit::python {

/// List of tuples (severity, code, group, layer, rule, message, facts); None where there is
/// nothing.
Ref list_of(std::span<const Problem> problems);

}  // namespace kvedit::python
