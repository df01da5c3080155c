#include "tensor.hpp"

#include <algorithm>
#include <cctype>

namespace kvedit::python {
namespace {

Ref name(const char* text) { return Ref::take(PyUnicode_InternFromString(text)); }

Ref attribute(PyObject* object, const Ref& name) {
  return Ref::take(PyObject_GetAttr(object, name.get()));
}

Ref call(PyObject* object, const Ref& name) {
  return Ref::take(PyObject_CallMethodObjArgs(object, name.get(), nullptr));
}

std::int64_t integer(PyObject* object, const Where& where, std::string_view part) {
  if (PyLong_CheckExact(object)) {
    int overflow = 0;
    const long long value = PyLong_AsLongLongAndOverflow(object, &overflow);
    if (overflow == 0) return value;
  }
  return to_integer(object, where.text(part));
}

std::vector<std::int64_t> integers(const Ref& given, const Where& where, std::string_view part) {
  const Ref all = PyTuple_Check(given.get()) ? given : Ref::take(PySequence_Tuple(given.get()));
  std::vector<std::int64_t> values(static_cast<std::size_t>(PyTuple_Size(all.get())));
  for (std::size_t i = 0; i < values.size(); ++i)
    values[i] = integer(item(all.get(), static_cast<Py_ssize_t>(i)), where, part);
  return values;
}

std::int64_t address(const Ref& given) {
  const auto value = static_cast<std::int64_t>(PyLong_AsUnsignedLongLongMask(given.get()));
  if (PyErr_Occurred()) throw Raised{};
  return value;
}

// What a tensor raised becomes an error that names the layer.
[[noreturn]] void no_tensor(PyObject* object, const Where& where) {
  PyObject *type = nullptr, *value = nullptr, *trace = nullptr;
  PyErr_Fetch(&type, &value, &trace);
  const Ref held[] = {Ref::share(type), Ref::share(value), Ref::share(trace)};
  Py_XDECREF(type);
  Py_XDECREF(value);
  Py_XDECREF(trace);
  std::string why;
  if (value) {
    const Ref said = Ref::take(PyObject_Str(value));
    why = to_text(said.get(), where.text());
  }
  throw Failed{{where.text(), type_name(object) + " that is no plain strided tensor: " + why +
                                  "; give the dense torch tensor that the engine registered"}};
}

std::string without_prefix(std::string text) {
  const auto dot = text.rfind('.');
  return dot == std::string::npos ? text : text.substr(dot + 1);
}

}  // namespace

std::string Where::text(std::string_view part) const {
  std::string text(prefix);
  text += layer;
  if (index >= 0) text += "/" + std::to_string(index);
  return text += part;
}

TensorReader::TensorReader()
    : dtype_(name("dtype")),
      shape_(name("shape")),
      stride_(name("stride")),
      offset_(name("storage_offset")),
      data_ptr_(name("data_ptr")),
      get_device_(name("get_device")),
      untyped_(name("untyped_storage")),
      storage_name_(name("storage")) {}

TensorFacts TensorReader::read(PyObject* tensor, const Where& where) {
  TensorFacts facts;
  try {
    facts.storage_offset = integer(call(tensor, offset_).get(), where, "/storage_offset");
    if (const std::optional<Exchanged> shown = exchange_.read(tensor)) {
      facts.dtype = &dtype_of(tensor, shown->dtype, where);
      facts.shape.assign(shown->shape.begin(), shown->shape.end());
      facts.stride.assign(shown->stride.begin(), shown->stride.end());
      facts.storage = storage_of(tensor, facts, shown->data, shown->device, where);
    } else {
      facts.dtype = &dtype_of(tensor, where);
      facts.shape = integers(attribute(tensor, shape_), where, "/shape");
      facts.stride = integers(call(tensor, stride_), where, "/stride");
      const std::int64_t data = address(call(tensor, data_ptr_));
      const std::int64_t device = integer(call(tensor, get_device_).get(), where, "/device");
      facts.storage = storage_of(tensor, facts, data, device, where);
    }
  } catch (const Raised&) {
    no_tensor(tensor, where);
  }
  return facts;
}

const DType& TensorReader::dtype_of(PyObject* tensor, const Where& where) {
  Ref key = attribute(tensor, dtype_);
  if (const auto found = dtypes_.find(key.get()); found != dtypes_.end())
    return found->second.second;
  const Ref said = Ref::take(PyObject_Str(key.get()));
  const std::string known_as = without_prefix(to_text(said.get(), where.text("/dtype")));
  std::optional<DType> dtype = find_dtype(known_as);
  if (!dtype) {
    const Ref size = Ref::take(PyObject_CallMethod(tensor, "element_size", nullptr));
    const std::int64_t bytes = to_integer(size.get(), where.text("/itemsize"));
    if (bytes < 1 || bytes > 256)
      throw Failed{
          {where.text("/itemsize"), std::to_string(bytes) + " bytes an element; 1 to 256 can be"}};
    dtype = opaque_dtype(known_as, static_cast<std::uint32_t>(bytes));
  }
  PyObject* identity = key.get();
  return dtypes_.emplace(identity, std::pair(std::move(key), *std::move(dtype)))
      .first->second.second;
}

// torch before 2.0 has no untyped_storage().
Ref TensorReader::storage_object(PyObject* tensor) const {
  PyObject* found = PyObject_CallMethodObjArgs(tensor, untyped_.get(), nullptr);
  if (found) return Ref::take(found);
  if (!PyErr_ExceptionMatches(PyExc_AttributeError)) throw Raised{};
  PyErr_Clear();
  return call(tensor, storage_name_);
}

const DType& TensorReader::dtype_of(PyObject* tensor, std::uint32_t exchanged, const Where& where) {
  const auto found = exchanged_dtypes_.try_emplace(exchanged, nullptr).first;
  if (!found->second) found->second = &dtype_of(tensor, where);
  return *found->second;
}

std::size_t TensorReader::storage_of(PyObject* tensor, const TensorFacts& facts, std::int64_t data,
                                     std::int64_t device, const Where& where) {
  std::int64_t begin = 0, skipped = 0;
  if (__builtin_mul_overflow(facts.storage_offset, static_cast<std::int64_t>(facts.dtype->itemsize),
                             &skipped))
    throw Failed{{where.text("/storage_offset"), "does not fit in 64 bits as bytes"}};
  Ref storage;
  // Tensors without memory (and those of no elements) begin at 0: told apart by identity.
  const bool memory = data != 0 && !__builtin_sub_overflow(data, skipped, &begin) && begin != 0;
  std::array<std::int64_t, 3> key{memory, device, begin};
  if (!memory) {
    storage = storage_object(tensor);
    key[2] = address(Ref::take(PyObject_GetAttrString(storage.get(), "_cdata")));
    begin = 0;
  }
  const auto [found, added] = numbers_.try_emplace(key, storages_.size());
  if (!added) return found->second;
  if (!storage) storage = storage_object(tensor);
  const Ref bytes = Ref::take(PyObject_CallMethod(storage.get(), "nbytes", nullptr));
  const Ref place = Ref::take(PyObject_GetAttrString(tensor, "device"));
  const Ref said = Ref::take(PyObject_Str(place.get()));
  storages_.push_back({static_cast<std::uint64_t>(begin), integer(bytes.get(), where, ""),
                       to_text(said.get(), "/device")});
  return found->second;
}

GivenTensors::GivenTensors(PyObject* given)
    : given_(PyList_Check(given) ? Ref::take(PyList_AsTuple(given)) : Ref::share(given)),
      is_list_(PyTuple_Check(given_.get())) {}

std::size_t GivenTensors::size() const {
  return is_list_ ? static_cast<std::size_t>(PyTuple_Size(given_.get())) : 1;
}

PyObject* GivenTensors::operator[](std::size_t at) const {
  return is_list_ ? item(given_.get(), static_cast<Py_ssize_t>(at)) : given_.get();
}

}  // namespace kvedit::python
