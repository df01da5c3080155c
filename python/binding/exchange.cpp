#include "exchange.hpp"

#include <cstddef>

namespace kvedit::python {
namespace {

// The binary interface of DLPack 1.x (dlpack.h), as far as it is used here.
constexpr std::uint32_t major_version = 1, first_minor_version = 3;
constexpr std::int32_t cpu = 1;

struct Version {
  std::uint32_t major, minor;
};

struct DlTensor {
  void* data;
  struct {
    std::int32_t type, id;
  } device;
  std::int32_t ndim;
  struct {
    std::uint8_t code, bits;
    std::uint16_t lanes;
  } dtype;
  std::int64_t* shape;
  std::int64_t* strides;
  std::uint64_t byte_offset;
};

// Of meta tensors torch can say nothing this way, and needs a millisecond to say so.
bool has_memory(PyObject* tensor) {
  PyObject* meta = PyObject_GetAttrString(tensor, "is_meta");
  if (!meta) PyErr_Clear();
  Py_XDECREF(meta);
  return meta != Py_True;
}

}  // namespace

struct Exchange::Table {
  Version version;
  Table* older;
  void* allocate;
  void* from_object;
  void* to_object;
  int (*show)(void* object, DlTensor* out);  ///< may be null; -1 with an exception set
  void* current_stream;
};

const Exchange::Table* Exchange::table_of(PyObject* type) {
  const Ref members = Ref::take(PyObject_GetAttrString(type, "__dict__"));
  const Ref name = text("__dlpack_c_exchange_api__");
  PyObject* offered = PyObject_GetItem(members.get(), name.get());
  if (!offered) {
    PyErr_Clear();
    return nullptr;
  }
  const Ref capsule = Ref::take(offered);
  const auto* table =
      static_cast<const Table*>(PyCapsule_GetPointer(capsule.get(), "dlpack_exchange_api"));
  if (!table) PyErr_Clear();
  while (table && table->version.major > major_version) table = table->older;
  if (!table || table->version.major != major_version || table->version.minor < first_minor_version)
    return nullptr;
  return table->show ? table : nullptr;
}

std::optional<Exchanged> Exchange::read(PyObject* tensor) {
  auto* const type = reinterpret_cast<PyObject*>(Py_TYPE(tensor));
  if (type != type_.get()) {
    table_ = has_memory(tensor) ? table_of(type) : nullptr;
    type_ = Ref::share(type);
  }
  DlTensor shown{};
  if (!table_) return std::nullopt;
  if (table_->show(tensor, &shown) != 0) {
    PyErr_Clear();
    table_ = nullptr;  // what one tensor cannot say costs a traceback in all that follow
    return std::nullopt;
  }
  const auto rank = static_cast<std::size_t>(shown.ndim);
  if (shown.ndim < 0 || (rank > 0 && (!shown.shape || !shown.strides))) return std::nullopt;
  Exchanged read;
  read.data =
      static_cast<std::int64_t>(reinterpret_cast<std::uintptr_t>(shown.data) + shown.byte_offset);
  read.device = shown.device.type == cpu ? -1 : shown.device.id;
  read.device_type = shown.device.type;
  read.dtype = static_cast<std::uint32_t>(shown.dtype.code) |
               static_cast<std::uint32_t>(shown.dtype.bits) << 8 |
               static_cast<std::uint32_t>(shown.dtype.lanes) << 16;
  read.shape = {shown.shape, rank};
  read.stride = {shown.strides, rank};
  return read;
}

}  // namespace kvedit::python
