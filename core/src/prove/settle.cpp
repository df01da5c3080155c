#include "prove/settle.hpp"

#include <algorithm>

#include "base/text.hpp"

namespace kvedit::prove {
namespace {

std::optional<Failure> leaves(const Storage& storage, Int128 begin, Int128 end,
                              std::string_view what, std::string_view remedy) {
  if (begin >= 0 && end <= storage.nbytes) return std::nullopt;
  return Failure{
      Code::bad_geometry,
      text(what, " reaches from byte ", begin, " to ", end, " of storage ", storage.name,
           ", which has ", storage.nbytes, " bytes; ", remedy),
      {{"begin", saturated(begin)}, {"end", saturated(end)}, {"nbytes", storage.nbytes}}};
}

bool possible(std::int64_t nbytes) { return 0 <= nbytes && nbytes <= farthest; }

Failure impossible(std::size_t tensor, const Storage& storage) {
  return {Code::bad_geometry,
          text("tensor ", tensor, " lies in storage ", storage.name, ", which has nbytes ",
               storage.nbytes, storage.nbytes < 0 ? ", fewer than 0" : ", more than 2^61",
               "; give the size of the whole allocation in bytes"),
          {{"nbytes", storage.nbytes}}};
}

class Settling {
 public:
  Settling(const RegistrationData& data, const RegistrationIndex& index, const LayerRef& layer,
           const LayerClass& of)
      : data_(data), layer_(layer), of_(of), places_(index.places_of(layer.cache)) {}

  std::optional<Failure> tensors_inside() const {
    for (std::size_t t = 0; t < of_.spans.size(); ++t) {
      const std::int64_t end = places_[t].begin + of_.spans[t];
      if (end > storage(t).nbytes)
        return leaves(storage(t), places_[t].begin, end, text("tensor ", t),
                      "check shape, stride, storage_offset and the size of the storage");
    }
    return std::nullopt;
  }

  std::optional<Failure> owned_inside() const {
    for (const Reach& reach : of_.page->reaches) {
      const std::int64_t first = places_[reach.tensor].begin;
      const Storage& owner = storage(reach.tensor);
      if (first + reach.begin < 0 || first + reach.end > owner.nbytes)
        return leaves(owner, first + reach.begin, first + reach.end, "what its blocks own",
                      text("all ", of_.page->blocks,
                           " pages lie in the storage, padding included: check num_blocks, "
                           "page_size_bytes and the size of the storage"));
    }
    return std::nullopt;
  }

  std::optional<Failure> where_placed() const {
    std::int64_t lowest = INT64_MAX;
    for (const Reach& reach : of_.page->reaches) {
      const TensorPlace& place = places_[reach.tensor];
      if (place.storage != layer_.placed_storage)
        return Failure{
            Code::placement_mismatch,
            text("registered in storage ", storage(reach.tensor).name, " and placed in storage ",
                 placement().storage, "; placement and tensor are of different engines or moments"),
            {{"registered", storage(reach.tensor).name}, {"placed", placement().storage}}};
      lowest = std::min(lowest, place.begin + reach.begin);
    }
    if (lowest == layer_.placed_at) return std::nullopt;
    return Failure{Code::placement_mismatch,
                   text("block 0 starts at byte ", lowest, " of storage ", placement().storage,
                        " and the placement puts it at ", layer_.placed_at,
                        "; placement and tensor are of different engines or moments"),
                   {{"registered", lowest}, {"placed", saturated(layer_.placed_at)}}};
  }

  std::optional<Failure> aligned() const {
    for (const ViewShape& view : of_.views) {
      const std::int64_t at = places_[view.tensor].begin + view.offset;
      const std::int64_t item = view.dtype.itemsize;
      const bool power = (item & (item - 1)) == 0;  // nearly always, and far cheaper
      if ((power ? at & (item - 1) : at % item) != 0)
        return Failure{
            Code::misaligned,
            text("its view of ", view.dtype.name, " starts at byte ", at, ", no multiple of ", item,
                 "; check storage_offset and dtype, or ask for profile bytes"),
            {{"byte", at}, {"itemsize", item}}};
    }
    return std::nullopt;
  }

 private:
  const Storage& storage(std::size_t tensor) const {
    return data_.storages[static_cast<std::size_t>(places_[tensor].storage)];
  }
  const Placement& placement() const {
    return data_.placements[static_cast<std::size_t>(layer_.placement)];
  }

  const RegistrationData& data_;
  const LayerRef& layer_;
  const LayerClass& of_;
  const TensorPlace* places_;
};

}  // namespace

std::optional<Failure> placed_at_all(const RegistrationData& data, const RegistrationIndex& index,
                                     std::int32_t cache) {
  const std::vector<Tensor>& tensors = data.caches[static_cast<std::size_t>(cache)].tensors;
  const TensorPlace* places = index.places_of(cache);
  for (std::size_t t = 0; t < tensors.size(); ++t) {
    const auto storage = static_cast<std::size_t>(places[t].storage);
    if (places[t].storage >= 0 && !possible(data.storages[storage].nbytes))
      return impossible(t, data.storages[storage]);
    if (places[t].storage >= 0 && places[t].begin >= 0 &&
        places[t].begin <= data.storages[storage].nbytes)
      continue;
    const Tensor& tensor = tensors[t];
    if (places[t].storage < 0)
      return Failure{Code::bad_geometry,
                     text("tensor ", t, " lies in storage \"", tensor.storage,
                          "\", which is not among the storages; list it there with its size"),
                     {{"storage", tensor.storage}}};
    return Failure{
        Code::bad_geometry,
        text("tensor ", t, " starts at element ", tensor.storage_offset, " of ",
             tensor.dtype.itemsize, " bytes in a storage of ", data.storages[storage].nbytes,
             " bytes; check storage_offset and the size of the storage"),
        {{"storage_offset", tensor.storage_offset}, {"nbytes", data.storages[storage].nbytes}}};
  }
  return std::nullopt;
}

std::optional<Failure> leaves_storage(const RegistrationData& data, const RegistrationIndex& index,
                                      const LayerRef& layer, const LayerClass& of) {
  return Settling(data, index, layer, of).tensors_inside();
}

std::optional<Failure> settle(const RegistrationData& data, const RegistrationIndex& index,
                              const LayerRef& layer, const LayerClass& of) {
  const Settling settling(data, index, layer, of);
  if (auto failure = settling.owned_inside()) return failure;
  if (layer.placement >= 0)
    if (auto failure = settling.where_placed()) return failure;
  return settling.aligned();
}

}  // namespace kvedit::prove
