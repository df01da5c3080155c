#include "module.hpp"
#include "value.hpp"

namespace kvedit::python {
namespace {

// (class name, names of bases, dict of fields, where) → Spec
PyObject* make(PyObject* module, PyObject* args) {
  const State& state = state_of(module);
  return guarded(state, [&] {
    const std::string where = to_text(item(args, 3), "where");
    return wrap(state.spec_type, to_spec(item(args, 0), item(args, 1), item(args, 2), where));
  });
}

PyObject* kind(PyObject* self, void*) {
  return guarded(state_of_instance(self), [&] { return text(to_text(unwrap<Spec>(self).kind)); });
}

PyGetSetDef members[] = {{"kind", kind, nullptr, nullptr, nullptr}, {}};
PyType_Slot slots[] = {
    {Py_tp_dealloc, reinterpret_cast<void*>(destroy<Spec>)}, {Py_tp_getset, members}, {0, nullptr}};
PyType_Spec spec = {"kvedit._core.Spec", sizeof(Box<Spec>), 0,
                    Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION, slots};
PyMethodDef functions[] = {{"make_spec", make, METH_VARARGS, nullptr}, {}};

}  // namespace

void add_spec(PyObject* module, State& state) {
  state.spec_type = make_type(module, spec).release();
  check(PyModule_AddFunctions(module, functions));
}

}  // namespace kvedit::python
