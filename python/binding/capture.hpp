#pragma once

#include <vector>

#include <kvedit/registration.hpp>

#include "module.hpp"
#include "tensor.hpp"

namespace kvedit::python {

/// What live objects say, and where their storages lie: one for each of `data.storages`.
struct Captured {
  RegistrationData data;
  std::vector<LiveStorage> storages;
};

/// @param facts  tuple of `_vllm.facts_of`; its last item is a list of (layer, tensor or list)
Captured capture(PyObject* facts, const State& state);

}  // namespace kvedit::python
