#include "views.hpp"

#include <memory_resource>
#include <tuple>

namespace kvedit::python {
namespace {

bool is_tensor(const View& view, const Tensor& tensor) {
  return *view.dtype == tensor.dtype && view.storage_offset == tensor.storage_offset &&
         std::equal(view.shape.begin(), view.shape.end(), tensor.shape.begin(),
                    tensor.shape.end()) &&
         std::equal(view.stride.begin(), view.stride.end(), tensor.stride.begin(),
                    tensor.stride.end());
}

// Whether it is tensor `at` of all of the cache's tensors.
bool shows(const View& view, std::size_t at, std::size_t views, const Cache& cache) {
  return views == cache.tensors.size() && view.tensor == at && is_tensor(view, cache.tensors[at]);
}

// One past the last byte of a view; nothing when it has none in 64 bits.
std::optional<std::int64_t> end_of(const View& view) {
  std::int64_t last = view.storage_offset, end = 0;
  const std::int64_t size = view.dtype->itemsize;
  if (last < 0) return std::nullopt;
  for (std::size_t i = 0; i < view.shape.size(); ++i) {
    std::int64_t step = 0;
    if (view.shape[i] <= 0 || view.stride[i] < 0 ||
        __builtin_mul_overflow(view.shape[i] - 1, view.stride[i], &step) ||
        __builtin_add_overflow(last, step, &last))
      return std::nullopt;
  }
  if (__builtin_mul_overflow(last, size, &end) || __builtin_add_overflow(end, size, &end))
    return std::nullopt;
  return end;
}

Ref numbers(std::span<const std::int64_t> values) {
  Ref made = Ref::take(PyTuple_New(static_cast<Py_ssize_t>(values.size())));
  for (std::size_t i = 0; i < values.size(); ++i)
    check(PyTuple_SetItem(made.get(), static_cast<Py_ssize_t>(i), number(values[i]).release()));
  return made;
}

// The tuple of the same numbers as before: layers of a class share shape and stride.
class LastTuple {
 public:
  PyObject* of(std::span<const std::int64_t> values) {
    if (!made_ || values.data() != data_ || values.size() != size_) {
      made_ = numbers(values);
      data_ = values.data();
      size_ = values.size();
    }
    return made_.get();
  }

 private:
  Ref made_;
  const std::int64_t* data_ = nullptr;
  std::size_t size_ = 0;
};

class ViewMaker {
 public:
  ViewMaker(const LiveCaches& live, PyObject* torch)
      : live_(live),
        torch_(torch),
        as_strided_(Ref::take(PyUnicode_InternFromString("as_strided"))),
        memory_(128 * live.layers().size()),
        made_(&memory_) {}

  /// Layers that show the same bytes in the same way (groups lie over each other) get one tensor.
  Ref make(const LiveLayer& layer, const View& view) {
    const Shown shown(view.storage, view.storage_offset, view.shape.data(), view.stride.data());
    Ref& made = made_[shown];
    if (!made) made = made_anew(layer, view);
    return made;
  }

 private:
  // Shape and stride are the class' own, which tell its dtype too.
  using Shown = std::tuple<std::int32_t, std::int64_t, const std::int64_t*, const std::int64_t*>;

  Ref made_anew(const LiveLayer& layer, const View& view) {
    const std::string& name = layer.cache->layer;
    const LiveStorage& storage = live_.storages()[static_cast<std::size_t>(view.storage)];
    const std::optional<std::int64_t> end = end_of(view);
    if (!end || *end > storage.nbytes)
      throw Failed{{"layer " + name, "its view ends at byte " +
                                         (end ? std::to_string(*end) : "2^63 or beyond") +
                                         " of a storage of " + std::to_string(storage.nbytes) +
                                         " bytes: please report this with the registration"}};
    PyObject* tensor = layer.tensors[view.tensor];
    const Tensor& registered = layer.cache->tensors[view.tensor];
    const bool own = *view.dtype == registered.dtype;
    const Ref base = own ? Ref::share(tensor) : whole_storage(name, tensor, view, storage);
    Ref offset;  // left out, it is the tensor's own, which torch reads more quickly
    if (!own || view.storage_offset != registered.storage_offset)
      offset = number(view.storage_offset);
    return Ref::take(PyObject_CallMethodObjArgs(base.get(), as_strided_.get(),
                                                shape_.of(view.shape), stride_.of(view.stride),
                                                offset.get(), nullptr));
  }

  // A tensor over the whole storage in another dtype; it never asks for more bytes than there are,
  // which torch would answer with other memory.
  Ref whole_storage(const std::string& layer, PyObject* tensor, const View& view,
                    const LiveStorage& storage) {
    const auto key = std::pair(view.storage, view.dtype->name);
    if (const auto found = bases_.find(key); found != bases_.end()) return found->second;
    const Ref dtype = torch_dtype(layer, tensor, *view.dtype);
    const Ref device = Ref::take(PyObject_GetAttrString(tensor, "device"));
    const Ref empty = Ref::take(PyObject_GetAttrString(torch_, "empty"));
    const Ref arguments = tuple(tuple(number(0)));
    const Ref named = Ref::take(PyDict_New());
    check(PyDict_SetItemString(named.get(), "dtype", dtype.get()));
    check(PyDict_SetItemString(named.get(), "device", device.get()));
    const Ref made = Ref::take(PyObject_Call(empty.get(), arguments.get(), named.get()));
    const Ref memory = untyped_storage(tensor);
    const Ref base = Ref::take(PyObject_CallMethod(
        made.get(), "set_", "OiOO", memory.get(), 0,
        tuple(number(storage.nbytes / view.dtype->itemsize)).get(), tuple(number(1)).get()));
    return bases_.emplace(key, base).first->second;
  }

  Ref torch_dtype(const std::string& layer, PyObject* tensor, const DType& dtype) {
    PyObject* found = PyObject_GetAttrString(torch_, dtype.name.c_str());
    if (found) return Ref::take(found);
    PyErr_Clear();
    Ref own = Ref::take(PyObject_GetAttrString(tensor, "dtype"));
    if (dtype.itemsize == 1) return own;
    throw Failed{{"layer " + layer, "its view is " + dtype.name +
                                        ", which this torch does not have: use a newer one, or the "
                                        "profile bytes"}};
  }

  // torch before 2.0 has a typed storage around the untyped one.
  static Ref untyped_storage(PyObject* tensor) {
    if (PyObject* found = PyObject_CallMethod(tensor, "untyped_storage", nullptr))
      return Ref::take(found);
    if (!PyErr_ExceptionMatches(PyExc_AttributeError)) throw Raised{};
    PyErr_Clear();
    const Ref typed = Ref::take(PyObject_CallMethod(tensor, "storage", nullptr));
    return Ref::take(PyObject_CallMethod(typed.get(), "untyped", nullptr));
  }

  const LiveCaches& live_;
  PyObject* torch_;
  Ref as_strided_;
  LastTuple shape_, stride_;
  std::pmr::monotonic_buffer_resource memory_;
  std::pmr::map<Shown, Ref> made_;
  std::map<std::pair<std::int32_t, std::string>, Ref> bases_;
};

Ref views_of(const LayerResult& result, const LiveLayer& layer, ViewMaker& maker) {
  const std::size_t count = result.view_count();
  if (count == 0) return layer.given;  // excluded
  if (count == 1) {
    const View view = result.view(0);
    return shows(view, 0, 1, *layer.cache) ? layer.given : maker.make(layer, view);
  }
  bool untouched = true;
  for (std::size_t i = 0; untouched && i < count; ++i)
    untouched = shows(result.view(i), i, count, *layer.cache);
  if (untouched) return layer.given;
  Ref list = Ref::take(PyList_New(0));
  for (std::size_t i = 0; i < count; ++i)
    check(PyList_Append(list.get(), maker.make(layer, result.view(i)).get()));
  return list;
}

constexpr std::size_t no_layer = SIZE_MAX;

// [cache] → its layer of the result.
std::vector<std::size_t> layer_numbers(const Result& result, std::size_t caches) {
  std::vector<std::size_t> numbers(caches, no_layer);
  for (std::size_t i = 0; i < result.layer_count(); ++i) {
    const std::int32_t cache = result.layer(i).cache();
    if (cache >= 0 && numbers[static_cast<std::size_t>(cache)] == no_layer)
      numbers[static_cast<std::size_t>(cache)] = i;
  }
  return numbers;
}

}  // namespace

Ref make_views(const Result& result, PyObject* caches, PyObject* torch) {
  return make_views(result, LiveCaches(result.registration(), caches), torch);
}

Ref make_views(const Result& result, const LiveCaches& live, PyObject* torch) {
  ViewMaker maker(live, torch);
  const std::vector<Cache>& caches = result.registration().data().caches;
  const std::vector<std::size_t> numbers = layer_numbers(result, caches.size());
  Ref views = Ref::take(PyDict_New());
  for (const LiveLayer& layer : live.layers()) {
    const std::size_t number = numbers[static_cast<std::size_t>(layer.cache - caches.data())];
    const Ref made =
        number == no_layer ? layer.given : views_of(result.layer(number), layer, maker);
    check(PyDict_SetItem(views.get(), layer.name.get(), made.get()));
  }
  return views;
}

Ref live_addresses(const Registration& registration, PyObject* caches) {
  const LiveCaches live(registration, caches);
  Ref addresses = Ref::take(PyList_New(0));
  for (const LiveStorage& storage : live.storages())
    check(PyList_Append(addresses.get(), number(storage.address).get()));
  return addresses;
}

}  // namespace kvedit::python
