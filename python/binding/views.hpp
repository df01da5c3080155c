#pragma once

#include <kvedit/result.hpp>

#include "live.hpp"
#include "object.hpp"

namespace kvedit::python {

/// The views of a result over the caller's tensors: dict of layer → tensor or list of tensors, in
/// the order of `caches`. A layer that shows nothing else than its registered tensors gets the very
/// object that was given; layers that show the same bytes in the same way get one tensor.
/// @param caches  mapping of layer → tensor, or list of tensors; exactly the registered layers
/// @param torch   the torch module
/// Throws when the tensors are not those of the registration: dtype, shape, stride, offset;
/// storages that are shared, apart and as long as registered.
Ref make_views(const Result& result, PyObject* caches, PyObject* torch);

/// The same over tensors that are known.
Ref make_views(const Result& result, const LiveCaches& live, PyObject* torch);

/// Address of each storage of the registration, in order; 0 without memory. Checks as above.
Ref live_addresses(const Registration& registration, PyObject* caches);

}  // namespace kvedit::python
