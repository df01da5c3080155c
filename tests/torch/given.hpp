#pragma once

#include <string>
#include <vector>

#include <kvedit/kvedit.hpp>
#include <kvedit/torch.hpp>

#include "registered_memory.hpp"

// Debian's libtorch brings glog, whose CHECK aborts: Catch2 comes after it.
#undef CHECK
#include <catch2/catch.hpp>

/// A given registration, its result and its memory.
struct Given {
  kvedit::Registration registration;
  kvedit::Result result;
  RegisteredMemory memory;

  explicit Given(const std::string& name);

  /// The tensors of a layer; each call gives the same.
  kvedit::torch::LayerTensors tensors(const std::string& layer) const;
  /// All tensors in the order of the result, lists flattened.
  std::vector<at::TensorBase> in_result_order() const;
};

const kvedit::Host& standard_host();
kvedit::Registration read_given(const std::string& name);
/// Names of all given registrations whose result is ok.
std::vector<std::string> served_registrations();

/// A tensor over the storage of another.
at::TensorBase tensor_like(const at::TensorBase& tensor, const c10::Storage& storage,
                           const std::vector<std::int64_t>& shape,
                           const std::vector<std::int64_t>& stride, std::int64_t storage_offset,
                           at::ScalarType type);
