#pragma once

#include <ATen/core/TensorBase.h>

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include <kvedit/error.hpp>
#include <kvedit/registration.hpp>

namespace kvedit::torch {

/// Why a tensor has no bytes that strides describe, or null.
const char* not_plain(const at::TensorBase& tensor);

/// Compares live tensors with the registration they are said to be of, layer by layer.
class RegisteredTensors {
 public:
  explicit RegisteredTensors(const Registration& registration);

  /// How many layers a result of the registration lists, and which of the caches a layer has; -1
  /// when nothing was registered for it.
  std::size_t layer_count() const;
  std::int32_t cache_of(std::size_t layer) const;

  std::optional<Error> check(std::size_t cache, std::span<const at::TensorBase> given);
  /// After all layers: storages that were registered apart must not share bytes.
  std::optional<Error> check_apart() const;

 private:
  std::optional<Error> check_storage(std::string_view layer, std::int32_t index,
                                     const at::TensorBase& given);

  const Registration& registration_;
  std::vector<const at::TensorBase*> first_in_;  // a tensor of each registered storage
};

}  // namespace kvedit::torch
