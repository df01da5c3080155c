#pragma once

#include <ATen/core/TensorBase.h>

#include <optional>
#include <span>
#include <string>
#include <vector>

#include <kvedit/dtype.hpp>
#include <kvedit/error.hpp>
#include <kvedit/export.hpp>
#include <kvedit/registration.hpp>
#include <kvedit/result.hpp>

/// Registrations from live tensors, and views over them.
/// `at::TensorBase` is the handle that every `at::Tensor` is: an `at::Tensor` can be given where one
/// is taken, and `at::Tensor(view)` makes one of what is given back, without a copy.
namespace kvedit::torch {

/// The libtorch type of a dtype; nothing when this libtorch has none.
KVEDIT_API std::optional<at::ScalarType> scalar_type(const DType& dtype);
KVEDIT_API DType dtype_of(at::ScalarType type);

/// What an engine registered for one layer.
struct LayerTensors {
  std::string layer;
  std::vector<at::TensorBase> tensors;
  bool is_list = false;  ///< registered as a list; always so when there are several
};

/// In any order; looking up is fastest in registration order.
using TensorsByLayer = std::vector<LayerTensors>;

struct LayerViews {
  std::string layer;
  std::vector<at::TensorBase> views;
};

/// The views of a result over the storages of the caller's tensors, layer by layer in the order of
/// the result. An excluded layer gets its own tensors back.
///
/// Nothing is taken on trust: the tensors must be those of the result's registration (dtype, shape,
/// stride, offset; storages shared, apart and long enough as registered), and each view must stay
/// in its storage. The device may be another, so that a registration can be replayed elsewhere.
/// A dtype that this libtorch does not know is shown as the tensor's own when that is `uint8` or
/// `int8` of the same size.
///
/// A view keeps its storage alive. It has a version counter of its own: do not differentiate
/// through it.
/// Errors: the result is not ok; a tensor is missing, unknown or not the registered one.
KVEDIT_API Expected<std::vector<LayerViews>> make_views(const Result& result,
                                                        const TensorsByLayer& tensors);

/// The same without names, for callers that do it often. `tensors` are those of all layers in the
/// order of the result, lists flattened; so are the views: `LayerResult::view_count` for each layer,
/// for an excluded one as many as it has tensors.
KVEDIT_API Expected<std::vector<at::TensorBase>> make_views(
    const Result& result, std::span<const at::TensorBase> tensors);

/// What an engine hands a connector, alive.
struct CaptureInput {
  /// All but `storages` and `caches`, which must be empty. A placement without a storage lies in
  /// that of the first of its layers that has a tensor. Specs come from `make_spec`.
  RegistrationData facts;
  TensorsByLayer tensors;  ///< in registration order
};

/// A registration of live tensors. Storages are told apart by identity and named s0, s1, … in the
/// order in which they are first seen.
/// Errors: a tensor that is no plain strided one; storages or caches given as facts.
KVEDIT_API Expected<Registration> capture(const CaptureInput& input);

}  // namespace kvedit::torch
