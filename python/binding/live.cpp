#include "live.hpp"

#include <algorithm>
#include <tuple>

namespace kvedit::python {
namespace {

std::string text_of(const std::vector<std::int64_t>& numbers) {
  std::string text = "[";
  for (const std::int64_t number : numbers) {
    if (text.size() > 1) text += ", ";
    text += std::to_string(number);
  }
  return text + "]";
}

std::string described(const DType& dtype, const std::vector<std::int64_t>& shape,
                      const std::vector<std::int64_t>& stride, std::int64_t offset) {
  return dtype.name + ", shape " + text_of(shape) + ", stride " + text_of(stride) +
         ", storage offset " + std::to_string(offset);
}

// A byte type stands in for a dtype that this torch does not have.
bool shows(const DType& live, const DType& registered) {
  if (live.name == registered.name) return true;
  const bool byte = live.name == "uint8" || live.name == "int8";
  return live == registered || (byte && registered.itemsize == 1 && registered.code != 0 &&
                                registered.code != 1 && registered.code != 6);
}

[[noreturn]] void refuse(const std::string& layer, std::string message) {
  throw Failed{{"layer " + layer, std::move(message)}};
}

}  // namespace

LiveCaches::LiveCaches(const Registration& registration, PyObject* caches)
    : data_(registration.data()),
      live_of_(data_.storages.size(), -1),
      by_number_(data_.storages.size()) {
  for (const Cache& cache : data_.caches) registered_.emplace(cache.layer, &cache);
  for (std::size_t i = 0; i < data_.storages.size(); ++i)
    storage_numbers_.emplace(data_.storages[i].name, i);
  const Ref items = Ref::take(PyMapping_Items(caches));
  const Py_ssize_t size = PyList_Size(items.get());
  layers_.reserve(static_cast<std::size_t>(size));
  for (Py_ssize_t i = 0; i < size; ++i) {
    PyObject* pair = PyList_GetItem(items.get(), i);
    add(item(pair, 0), item(pair, 1));
  }
  for (const Cache& cache : data_.caches)
    if (!by_name_.contains(cache.layer))
      refuse(cache.layer,
             "no tensor given: give those of all registered layers, also of those that "
             "are not transferred");
  for (std::size_t i = 0; i < live_of_.size(); ++i)
    if (live_of_[i] >= 0) by_number_[i] = reader_.storages()[static_cast<std::size_t>(live_of_[i])];
  check_apart();
}

LiveCaches::LiveCaches(const Registration& registration, PyObject* caches,
                       std::vector<LiveStorage> storages)
    : data_(registration.data()), by_number_(std::move(storages)) {
  layers_.reserve(data_.caches.size());
  for (std::size_t i = 0; i < data_.caches.size(); ++i) {
    PyObject* pair = PyList_GetItem(caches, static_cast<Py_ssize_t>(i));
    PyObject* given = item(pair, 1);
    layers_.push_back(
        {&data_.caches[i], Ref::share(item(pair, 0)), Ref::share(given), GivenTensors(given)});
    if (layers_.back().tensors.size() != data_.caches[i].tensors.size())
      refuse(data_.caches[i].layer, "its list of tensors changed while it was read");
  }
}

void LiveCaches::add(PyObject* name, PyObject* given) {
  const std::string layer = to_text(name, "kv_caches");
  const auto found = registered_.find(layer);
  if (found == registered_.end())
    refuse(layer,
           "a tensor is given for a layer that was not registered: make the registration "
           "again from these caches");
  LiveLayer live{found->second, Ref::share(name), Ref::share(given), GivenTensors(given)};
  if (live.tensors.size() != live.cache->tensors.size())
    refuse(layer, std::to_string(live.tensors.size()) + " tensors given, " +
                      std::to_string(live.cache->tensors.size()) +
                      " registered: give all tensors of the layer, in registration order");
  for (std::size_t i = 0; i < live.tensors.size(); ++i)
    compare(live, i, reader_.read(live.tensors[i], {"layer ", layer}));
  by_name_.emplace(live.cache->layer, layers_.size());
  layers_.push_back(std::move(live));
}

void LiveCaches::compare(const LiveLayer& layer, std::size_t at, const TensorFacts& facts) {
  const Tensor& registered = layer.cache->tensors[at];
  if (!shows(*facts.dtype, registered.dtype) || facts.shape != registered.shape ||
      facts.stride != registered.stride || facts.storage_offset != registered.storage_offset)
    refuse(layer.cache->layer,
           "its tensor is " +
               described(*facts.dtype, facts.shape, facts.stride, facts.storage_offset) +
               "; registered was " +
               described(registered.dtype, registered.shape, registered.stride,
                         registered.storage_offset) +
               ": give the registered tensor, or make the registration again");
  bind(layer, registered.storage, facts.storage);
}

void LiveCaches::bind(const LiveLayer& layer, const std::string& registered, std::size_t live) {
  const auto found = storage_numbers_.find(registered);
  if (found == storage_numbers_.end())
    refuse(layer.cache->layer,
           "its tensor names storage " + registered + ", which the registration does not have");
  std::int64_t& bound = live_of_[found->second];
  if (bound == static_cast<std::int64_t>(live)) return;
  if (bound >= 0)
    refuse(layer.cache->layer,
           "its tensor lies in another storage than the tensors before it, all registered in "
           "storage " +
               registered + ": give the registered tensors, not copies");
  bound = static_cast<std::int64_t>(live);
  const std::int64_t bytes = reader_.storages()[live].nbytes;
  const std::int64_t wanted = data_.storages[found->second].nbytes;
  if (bytes < wanted)
    refuse(layer.cache->layer, "its storage has " + std::to_string(bytes) + " bytes, storage " +
                                   registered + " was registered with " + std::to_string(wanted) +
                                   ": give the registered tensor");
}

void LiveCaches::check_apart() const {
  struct Memory {
    std::string_view device;
    std::uint64_t begin, end;
    std::string_view name;
  };
  std::vector<Memory> memory;
  for (std::size_t i = 0; i < live_of_.size(); ++i) {
    if (live_of_[i] < 0) continue;
    const LiveStorage& live = by_number_[i];
    for (std::size_t j = 0; j < i; ++j)
      if (live_of_[j] == live_of_[i])
        throw Failed{{"storage " + data_.storages[i].name,
                      "the tensors registered in it lie in one storage with those of storage " +
                          data_.storages[j].name +
                          ", which was registered apart: make the "
                          "registration again from these caches"}};
    if (live.address != 0)
      memory.push_back({live.device, live.address,
                        live.address + static_cast<std::uint64_t>(data_.storages[i].nbytes),
                        data_.storages[i].name});
  }
  std::sort(memory.begin(), memory.end(), [](const Memory& a, const Memory& b) {
    return std::tie(a.device, a.begin, a.end) < std::tie(b.device, b.begin, b.end);
  });
  for (std::size_t i = 1; i < memory.size(); ++i)
    if (memory[i].device == memory[i - 1].device && memory[i].begin < memory[i - 1].end)
      throw Failed{{"storage " + std::string(memory[i].name),
                    "the tensors registered in it share " +
                        std::to_string(memory[i - 1].end - memory[i].begin) +
                        " bytes with those of storage " + std::string(memory[i - 1].name) +
                        ", which was registered apart: what was proved does not hold, make the "
                        "registration again from these caches"}};
}

}  // namespace kvedit::python
