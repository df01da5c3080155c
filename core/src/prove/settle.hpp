#pragma once

#include <optional>

#include "model/edit.hpp"
#include "model/index.hpp"

namespace kvedit::prove {

/// Before layers are compared: tensors that lie in a known storage at a possible place.
std::optional<Failure> placed_at_all(const RegistrationData& data, const RegistrationIndex& index,
                                     std::int32_t cache);

/// Whether the layer's tensors end within their storages.
std::optional<Failure> leaves_storage(const RegistrationData& data, const RegistrationIndex& index,
                                      const LayerRef& layer, const LayerClass& of);

/// What its class cannot tell of a layer: that the bytes it owns lie in their storages, aligned,
/// and where the placement says.
std::optional<Failure> settle(const RegistrationData& data, const RegistrationIndex& index,
                              const LayerRef& layer, const LayerClass& of);

}  // namespace kvedit::prove
