#include <c10/core/ScalarTypeToTypeMeta.h>
#include <c10/core/TensorImpl.h>

#include <exception>
#include <optional>
#include <string_view>
#include <unordered_map>
#include <utility>

#include <kvedit/torch.hpp>

#include "dtypes.hpp"
#include "registered_tensors.hpp"

namespace kvedit::torch {
namespace {

using Views = std::vector<at::TensorBase>;

Error failed(std::string_view layer, std::string message) {
  return {"layer " + std::string(layer), std::move(message)};
}

// One past the last byte of a view, from the start of its storage; nothing when it has none in 64
// bits or reaches before the storage.
std::optional<std::int64_t> end_of(const View& view) {
  const std::int64_t item = view.dtype->itemsize;
  std::int64_t last = view.storage_offset;
  if (last < 0 || view.shape.size() != view.stride.size()) return std::nullopt;
  for (std::size_t i = 0; i < view.shape.size(); ++i) {
    std::int64_t step = 0;
    if (view.shape[i] <= 0 || view.stride[i] < 0 ||
        __builtin_mul_overflow(view.shape[i] - 1, view.stride[i], &step) ||
        __builtin_add_overflow(last, step, &last))
      return std::nullopt;
  }
  std::int64_t end = 0;
  if (__builtin_mul_overflow(last, item, &end) || __builtin_add_overflow(end, item, &end))
    return std::nullopt;
  return end;
}

std::optional<Error> check_memory(std::string_view layer, const View& view,
                                  const c10::StorageImpl& storage) {
  const std::optional<std::int64_t> end = end_of(view);
  if (!end || static_cast<std::uint64_t>(*end) > storage.nbytes())
    return failed(layer, "its view ends at byte " + (end ? std::to_string(*end) : "2^63 or beyond") +
                             " of a storage of " + std::to_string(storage.nbytes()) +
                             " bytes: please report this with the registration");
  const std::uintptr_t at = reinterpret_cast<std::uintptr_t>(storage.data());
  const std::uintptr_t alignment = view.dtype->itemsize > 8 ? 8 : view.dtype->itemsize;
  if (at % alignment != 0)
    return failed(layer, "its storage begins at an address that is not a multiple of the " +
                             std::to_string(alignment) + " bytes of " + view.dtype->name +
                             ": allocate it aligned");
  return std::nullopt;
}

at::TensorBase view_of(const at::TensorBase& tensor, const View& view, at::ScalarType type) {
  // Same device, hence the same dispatch keys: no key of a plain strided tensor depends on the type.
  auto made = c10::make_intrusive<c10::TensorImpl>(
      c10::TensorImpl::VIEW, c10::Storage(tensor.storage()), tensor.key_set(),
      c10::scalarTypeToTypeMeta(type));
  made->set_sizes_and_strides(at::IntArrayRef(view.shape.data(), view.shape.size()),
                              at::IntArrayRef(view.stride.data(), view.stride.size()),
                              view.storage_offset);
  return at::TensorBase(std::move(made));
}

std::optional<Error> add_views(const LayerResult& layer, std::span<const at::TensorBase> tensors,
                               Views& views) {
  if (layer.outcome() == Outcome::excluded) {
    views.insert(views.end(), tensors.begin(), tensors.end());
    return std::nullopt;
  }
  const std::size_t count = layer.view_count();
  for (std::size_t i = 0; i < count; ++i) {
    const View view = layer.view(i);
    const at::TensorBase& tensor = tensors[view.tensor];
    if (auto wrong = check_memory(layer.name(), view, *tensor.storage().unsafeGetStorageImpl()))
      return wrong;
    const std::optional<at::ScalarType> type = shown_type(*view.dtype, tensor.scalar_type());
    if (!type)
      return failed(layer.name(), "its view is " + view.dtype->name +
                                      ", which this libtorch does not have: use a newer one, or "
                                      "the profile `bytes`");
    views.push_back(view_of(tensor, view, *type));
  }
  return std::nullopt;
}

// For each layer takes its tensors, checks them and gives them on.
template <class Take, class Give>
std::optional<Error> for_each_layer(const Result& result, const Take& take, const Give& give) {
  if (!result.ok())
    return Error{"", "the result is not ok, no layer has views: resolve its problems first"};
  RegisteredTensors registered(result.registration());
  const std::size_t layers = result.layer_count();
  if (layers != registered.layer_count())
    return Error{"", "the result has " + std::to_string(layers) + " layers, its registration " +
                         std::to_string(registered.layer_count()) +
                         ": please report this with the registration"};
  for (std::size_t i = 0; i < layers; ++i) {
    if (registered.cache_of(i) < 0) continue;  // not transferred, and nothing registered
    const auto cache = static_cast<std::size_t>(registered.cache_of(i));
    const Expected<std::span<const at::TensorBase>> tensors = take(cache);
    if (!tensors) return tensors.error();
    if (auto wrong = registered.check(cache, *tensors)) return wrong;
    if (auto wrong = give(result.layer(i), *tensors)) return wrong;
  }
  return registered.check_apart();
}

// The tensors of a layer by its name; in registration order without a search.
class ByName {
 public:
  explicit ByName(const TensorsByLayer& tensors) : tensors_(tensors) {}

  Expected<std::span<const at::TensorBase>> take(std::size_t guess, const std::string& layer) {
    const LayerTensors* found =
        guess < tensors_.size() && tensors_[guess].layer == layer ? &tensors_[guess] : find(layer);
    if (!found)
      return failed(layer, "no tensor given: give those of all registered layers, also of those "
                           "that are not transferred");
    ++taken_;
    return std::span<const at::TensorBase>(found->tensors);
  }

  // Each registered layer takes one; what is left is of no layer, or given twice.
  std::optional<Error> check_all_taken(const Registration& registration) const {
    if (taken_ == tensors_.size()) return std::nullopt;
    std::unordered_map<std::string_view, bool> known;
    for (const Cache& cache : registration.data().caches) known.emplace(cache.layer, false);
    for (const LayerTensors& each : tensors_) {
      const auto found = known.find(each.layer);
      if (found == known.end())
        return failed(each.layer, "tensors given for a layer that was not registered: capture the "
                                  "registration again");
      if (std::exchange(found->second, true))
        return failed(each.layer, "tensors given twice: give each layer once");
    }
    return std::nullopt;
  }

 private:
  const LayerTensors* find(const std::string& layer) {
    if (by_name_.empty())
      for (const LayerTensors& each : tensors_) by_name_.emplace(each.layer, &each);
    const auto found = by_name_.find(layer);
    return found == by_name_.end() ? nullptr : found->second;
  }

  const TensorsByLayer& tensors_;
  std::unordered_map<std::string_view, const LayerTensors*> by_name_;
  std::size_t taken_ = 0;
};

Error thrown(const std::exception& error) {
  return {"", "libtorch refused: " + std::string(error.what())};
}

}  // namespace

Expected<std::vector<LayerViews>> make_views(const Result& result,
                                             const TensorsByLayer& tensors) try {
  std::vector<LayerViews> all;
  all.reserve(result.layer_count());
  ByName by_name(tensors);
  const std::vector<Cache>& caches = result.registration().data().caches;
  auto wrong = for_each_layer(
      result, [&](std::size_t cache) { return by_name.take(cache, caches[cache].layer); },
      [&](const LayerResult& layer, std::span<const at::TensorBase> given) {
        all.push_back({std::string(layer.name()), {}});
        return add_views(layer, given, all.back().views);
      });
  if (!wrong) wrong = by_name.check_all_taken(result.registration());
  if (wrong) return *std::move(wrong);
  return all;
} catch (const std::exception& error) {
  return thrown(error);
}

Expected<std::vector<at::TensorBase>> make_views(const Result& result,
                                                 std::span<const at::TensorBase> tensors) try {
  Views views;
  views.reserve(tensors.size());
  std::size_t next = 0;
  const std::vector<Cache>& caches = result.registration().data().caches;
  auto wrong = for_each_layer(
      result,
      [&](std::size_t cache) -> Expected<std::span<const at::TensorBase>> {
        const std::size_t first = next;
        next += caches[cache].tensors.size();
        if (next <= tensors.size()) return tensors.subspan(first, next - first);
        return failed(caches[cache].layer, std::to_string(tensors.size()) +
                                            " tensors given, they end before this layer: give "
                                            "those of all layers in the order of the result");
      },
      [&](const LayerResult& layer, std::span<const at::TensorBase> given) {
        return add_views(layer, given, views);
      });
  if (!wrong && next != tensors.size())
    wrong = Error{"", std::to_string(tensors.size()) + " tensors given, the layers have " +
                          std::to_string(next) + ": give those of all layers, lists flattened"};
  if (wrong) return *std::move(wrong);
  return views;
} catch (const std::exception& error) {
  return thrown(error);
}

}  // namespace kvedit::torch
