#include "module.hpp"

#include <kvedit/printable.hpp>
#include <kvedit/version.hpp>

namespace kvedit::python {

State& state_of(PyObject* module) { return *static_cast<State*>(PyModule_GetState(module)); }

State& state_of_instance(PyObject* self) {
  return *static_cast<State*>(PyType_GetModuleState(Py_TYPE(self)));
}

void raise(const State& state, const Error& error) {
  try {
    const Ref made = Ref::take(PyObject_CallFunctionObjArgs(state.error, text(printable(error.text())).get(),
                                                            text(error.where).get(), nullptr));
    PyErr_SetObject(state.error, made.get());
  } catch (const Raised&) {
  }
}

Ref make_type(PyObject* module, PyType_Spec& spec) {
  Ref type = Ref::take(PyType_FromModuleAndSpec(module, &spec, nullptr));
  check(PyModule_AddType(module, reinterpret_cast<PyTypeObject*>(type.get())));
  return type;
}

namespace {

// A str may have halves of surrogate pairs; they are shown like all else.
PyObject* show(PyObject* module, PyObject* given) {
  return guarded(state_of(module), [&] {
    const Ref bytes = Ref::take(PyUnicode_AsEncodedString(given, "utf-8", "surrogatepass"));
    char* begin = nullptr;
    Py_ssize_t size = 0;
    check(PyBytes_AsStringAndSize(bytes.get(), &begin, &size));
    return text(printable({begin, static_cast<std::size_t>(size)}));
  });
}

PyMethodDef functions[] = {{"printable", show, METH_O, nullptr}, {}};

int execute(PyObject* module) {
  State& state = state_of(module);
  state = {};
  try {
    const Ref errors = Ref::take(PyImport_ImportModule("kvedit._errors"));
    state.error = Ref::take(PyObject_GetAttrString(errors.get(), "Error")).release();
    add_spec(module, state);
    add_registration(module, state);
    add_host(module, state);
    add_result(module, state);
    add_addresses(module, state);
    check(PyModule_AddFunctions(module, functions));
    check(PyModule_AddStringConstant(module, "__version__", KVEDIT_VERSION));
  } catch (const Raised&) {
    return -1;
  }
  return 0;
}

int traverse(PyObject* module, visitproc visit, void* arg) {
  State& state = state_of(module);
  Py_VISIT(state.spec_type);
  Py_VISIT(state.registration_type);
  Py_VISIT(state.host_type);
  Py_VISIT(state.result_type);
  Py_VISIT(state.addresses_type);
  Py_VISIT(state.error);
  return 0;
}

int clear(PyObject* module) {
  State& state = state_of(module);
  Py_CLEAR(state.spec_type);
  Py_CLEAR(state.registration_type);
  Py_CLEAR(state.host_type);
  Py_CLEAR(state.result_type);
  Py_CLEAR(state.addresses_type);
  Py_CLEAR(state.error);
  return 0;
}

PyModuleDef_Slot slots[] = {
    {Py_mod_exec, reinterpret_cast<void*>(execute)},
#ifdef Py_GIL_DISABLED
    {Py_mod_gil, Py_MOD_GIL_NOT_USED},
#endif
    {0, nullptr},
};

PyModuleDef definition = {
    PyModuleDef_HEAD_INIT,
    "kvedit._core",
    "The compiled core of kvedit.",
    sizeof(State),
    nullptr,
    slots,
    traverse,
    clear,
    nullptr,
};

}  // namespace
}  // namespace kvedit::python

extern "C" __attribute__((visibility("default"))) PyObject* PyInit__core() {
  return PyModuleDef_Init(&kvedit::python::definition);
}
