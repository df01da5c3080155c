#include "readback/handed.hpp"

#include <utility>

#include "base/text.hpp"
#include "model/index.hpp"
#include "readback/recover.hpp"

namespace kvedit::readback {
namespace {

std::string list(const std::vector<std::int64_t>& numbers) {
  std::string all = "[";
  for (std::size_t i = 0; i < numbers.size(); ++i) all += text(i ? ", " : "", numbers[i]);
  return all + "]";
}

}  // namespace

bool takes_lists_at(const Edit& edit, std::int32_t cache) {
  if (edit.registration.data().caches[static_cast<std::size_t>(cache)].tensors.empty())
    return false;
  const TensorPlace& place = *edit.registration.index().places_of(cache);
  const auto& storages = edit.registration.data().storages;
  return place.storage >= 0 &&
         storages[static_cast<std::size_t>(place.storage)].device.rfind("npu", 0) == 0;
}

Handed handed(const Edit& edit, std::size_t layer) {
  const LayerEntry& entry = edit.layers[layer];
  const Cache& cache = edit.registration.data().caches[static_cast<std::size_t>(entry.cache)];
  Handed made;
  made.dense_only = edit.options.recurrent_rows == RecurrentRows::page;
  made.takes_lists = takes_lists_at(edit, entry.cache);
  if (entry.outcome != Outcome::excluded && entry.outcome != Outcome::failed) {
    made.views = edit.classes[static_cast<std::size_t>(entry.layer_class)].views;
    made.list = made.views.size() > 1;
    return made;
  }
  for (std::size_t t = 0; t < cache.tensors.size(); ++t) {
    const Tensor& tensor = cache.tensors[t];
    made.registered.push_back(
        {tensor.dtype, tensor.shape, tensor.stride, static_cast<std::uint32_t>(t), 0, 0, {}});
  }
  made.views = made.registered;
  made.list = cache.is_list;
  return made;
}

std::variant<Entry, std::string> wrapped(const Handed& layer) {
  if (layer.list && !layer.takes_lists)
    return text("LMCache refuses a list of ", layer.views.size(),
                " tensors for a layer, except in memory of an npu");
  Entry entry;
  entry.list = layer.list;
  entry.tensors.reserve(layer.views.size());
  entry.dtypes.reserve(layer.views.size());
  for (const ViewShape& view : layer.views) {
    auto dims = recover(view.shape, view.stride);
    if (const auto* why = std::get_if<std::string>(&dims))
      return text("LMCache refuses ", shown(view), ": ", *why);
    entry.tensors.push_back(std::get<Dims>(std::move(dims)));
    if (layer.dense_only && !entry.tensors.back().contiguous)
      return text(
          "whole pages are asked for because LMCache takes only dense tensors through "
          "shared memory, and ",
          shown(view), " has gaps from block to block");
    entry.dtypes.push_back(view.dtype);
  }
  return entry;
}

std::string shown(const ViewShape& view) {
  return text(list(view.shape), " strides ", list(view.stride));
}

}  // namespace kvedit::readback
