#include <kvedit/addresses.hpp>

#include "module.hpp"

namespace kvedit::python {
namespace {

/// The memory of an object, held for as long as this lives.
class Buffer {
 public:
  Buffer(PyObject* object, int flags) { check(PyObject_GetBuffer(object, &view_, flags)); }
  ~Buffer() { PyBuffer_Release(&view_); }
  Buffer(const Buffer&) = delete;
  Buffer& operator=(const Buffer&) = delete;

  template <class T>
  std::span<T> items(const char* what) const {
    if (view_.len % static_cast<Py_ssize_t>(sizeof(T)) != 0 ||
        reinterpret_cast<std::uintptr_t>(view_.buf) % alignof(T) != 0)
      throw Failed{{what, "memory that holds no whole, aligned items of " +
                              std::to_string(sizeof(T)) + " bytes"}};
    return {static_cast<T*>(view_.buf), static_cast<std::size_t>(view_.len) / sizeof(T)};
  }

 private:
  Py_buffer view_ = {};
};

AddressMap& map_of(PyObject* self) { return unwrap<AddressMap>(self); }

PyObject* block_bytes(PyObject* self, void*) {
  return guarded(state_of_instance(self), [&] { return number(map_of(self).block_bytes()); });
}

PyObject* capacity(PyObject* self, PyObject* count) {
  return guarded(state_of_instance(self), [&] {
    const std::int64_t blocks = to_integer(count, "count");
    std::size_t room = 0;
    if (blocks < 0 ||
        __builtin_mul_overflow(map_of(self).capacity(1), static_cast<std::size_t>(blocks), &room))
      throw Failed{{"count", std::to_string(blocks) + " blocks"}};
    return number(room);
  });
}

// (block ids as contiguous int64, extents as contiguous 24-byte records) → how many were written.
PyObject* write(PyObject* self, PyObject* args) {
  return guarded(state_of_instance(self), [&] {
    const Buffer ids(item(args, 0), PyBUF_SIMPLE);
    const Buffer out(item(args, 1), PyBUF_WRITABLE);
    const auto blocks = ids.items<const std::int64_t>("block_ids");
    const auto extents = out.items<Extent>("out");
    const AddressMap& map = map_of(self);
    const Expected<std::size_t> count = [&] {
      const Unlocked others_run;
      return map.write(blocks, extents);
    }();
    if (!count) throw Failed{count.error()};
    return number(*count);
  });
}

PyMethodDef methods[] = {
    {"capacity", capacity, METH_O, nullptr}, {"write", write, METH_VARARGS, nullptr}, {}};
PyGetSetDef members[] = {{"block_bytes", block_bytes, nullptr, nullptr, nullptr}, {}};
PyType_Slot slots[] = {{Py_tp_dealloc, reinterpret_cast<void*>(destroy<AddressMap>)},
                       {Py_tp_methods, methods},
                       {Py_tp_getset, members},
                       {0, nullptr}};
PyType_Spec spec = {"kvedit._core.AddressMap", sizeof(Box<AddressMap>), 0,
                    Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION, slots};

static_assert(sizeof(Extent) == 24 && offsetof(Extent, length) == 8 &&
              offsetof(Extent, storage) == 16);  // the dtype in _addresses.py

}  // namespace

void add_addresses(PyObject* module, State& state) {
  state.addresses_type = make_type(module, spec).release();
}

}  // namespace kvedit::python
