#include "prove/settle.hpp"

#include <algorithm>

#include "base/text.hpp"

namespace kvedit::prove {
namespace {

constexpr std::int64_t far = std::int64_t{1} << 61;

std::int64_t first_byte(const Tensor& tensor) {
  return tensor.storage_offset * tensor.dtype.itemsize;
}

std::int64_t clamp(Int128 value) {
  return static_cast<std::int64_t>(std::clamp<Int128>(value, INT64_MIN, INT64_MAX));
}

std::optional<Failure> leaves(const Storage& storage, Int128 begin, Int128 end,
                              std::string_view what) {
  if (begin >= 0 && end <= storage.nbytes) return std::nullopt;
  return Failure{Code::bad_geometry,
                 text(what, " reaches from byte ", begin, " to ", end, " of storage ", storage.name,
                      ", which has ", storage.nbytes, " bytes"),
                 {{"begin", clamp(begin)}, {"end", clamp(end)}, {"nbytes", storage.nbytes}}};
}

class Settling {
 public:
  Settling(const RegistrationData& data, const RegistrationIndex& index, const LayerRef& layer,
           const LayerClass& of)
      : data_(data),
        layer_(layer),
        of_(of),
        tensors_(data.caches[static_cast<std::size_t>(layer.cache)].tensors),
        storages_(index.storage_of[static_cast<std::size_t>(layer.cache)]) {}

  std::optional<Failure> tensors_inside() const {
    for (std::size_t t = 0; t < tensors_.size(); ++t) {
      const Int128 begin = first_byte(tensors_[t]);
      const Int128 end = begin + of_.spans[t];
      if (end > storage(t).nbytes) return leaves(storage(t), begin, end, text("tensor ", t));
    }
    return std::nullopt;
  }

  std::optional<Failure> owned_inside() const {
    for (const Reach& reach : of_.page->reaches) {
      const std::int64_t first = first_byte(tensors_[reach.tensor]);
      const Storage& owner = storage(reach.tensor);
      if (first + reach.begin < 0 || first + reach.end > owner.nbytes)
        return leaves(owner, first + reach.begin, first + reach.end, "what its blocks own");
    }
    return std::nullopt;
  }

  std::optional<Failure> where_placed() const {
    const Placement& placement = data_.placements[static_cast<std::size_t>(layer_.placement)];
    std::int64_t lowest = INT64_MAX;
    for (const Reach& reach : of_.page->reaches) {
      const Tensor& tensor = tensors_[reach.tensor];
      if (tensor.storage != placement.storage)
        return Failure{Code::placement_mismatch,
                       text("registered in storage ", tensor.storage, " and placed in storage ",
                            placement.storage),
                       {}};
      lowest = std::min(lowest, first_byte(tensor) + reach.begin);
    }
    const Int128 placed = placed_at(data_, layer_);
    if (lowest == placed) return std::nullopt;
    return Failure{Code::placement_mismatch,
                   text("block 0 starts at byte ", lowest, " of storage ", placement.storage,
                        " and the placement puts it at ", placed,
                        "; placement and tensor are of different engines or moments"),
                   {{"registered", lowest}, {"placed", clamp(placed)}}};
  }

  std::optional<Failure> aligned() const {
    for (const ViewShape& view : of_.views) {
      const std::int64_t at = first_byte(tensors_[view.tensor]) + view.offset;
      if (at % view.dtype.itemsize != 0)
        return Failure{Code::misaligned,
                       text("its view of ", view.dtype.name, " starts at byte ", at,
                            ", no multiple of ", view.dtype.itemsize),
                       {{"byte", at}, {"itemsize", view.dtype.itemsize}}};
    }
    return std::nullopt;
  }

 private:
  const Storage& storage(std::size_t tensor) const {
    return data_.storages[static_cast<std::size_t>(storages_[tensor])];
  }

  const RegistrationData& data_;
  const LayerRef& layer_;
  const LayerClass& of_;
  const std::vector<Tensor>& tensors_;
  const std::vector<std::int32_t>& storages_;
};

}  // namespace

std::optional<Failure> placed_at_all(const RegistrationData& data, const RegistrationIndex& index,
                                     std::int32_t cache) {
  const Cache& registered = data.caches[static_cast<std::size_t>(cache)];
  for (std::size_t t = 0; t < registered.tensors.size(); ++t) {
    const Tensor& tensor = registered.tensors[t];
    const std::int32_t storage = index.storage_of[static_cast<std::size_t>(cache)][t];
    if (storage < 0)
      return Failure{Code::bad_geometry,
                     text("tensor ", t, " lies in storage \"", tensor.storage,
                          "\", which is not among the storages"),
                     {{"storage", tensor.storage}}};
    const std::int64_t nbytes = data.storages[static_cast<std::size_t>(storage)].nbytes;
    const std::int64_t item = tensor.dtype.itemsize;
    if (item <= 0)
      return Failure{Code::bad_geometry,
                     text("tensor ", t, " has dtype ", tensor.dtype.name, " of ", item, " bytes"),
                     {{"itemsize", item}}};
    std::int64_t begin = 0;
    if (tensor.storage_offset < 0 || __builtin_mul_overflow(tensor.storage_offset, item, &begin) ||
        begin > std::min(nbytes, far))
      return Failure{Code::bad_geometry,
                     text("tensor ", t, " starts at element ", tensor.storage_offset, " of ", item,
                          " bytes in a storage of ", nbytes, " bytes"),
                     {{"storage_offset", tensor.storage_offset}, {"nbytes", nbytes}}};
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
