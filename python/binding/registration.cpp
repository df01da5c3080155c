#include <kvedit/json.hpp>

#include "capture.hpp"
#include "module.hpp"

namespace kvedit::python {
namespace {

PyObject* build(PyObject* module, PyObject* facts) {
  const State& state = state_of(module);
  return guarded(state, [&] {
    return wrap(state.registration_type, Registration(capture(facts, state).data));
  });
}

PyObject* read(PyObject* module, PyObject* text) {
  const State& state = state_of(module);
  return guarded(state, [&] {
    char* bytes = nullptr;
    Py_ssize_t size = 0;
    check(PyBytes_AsStringAndSize(text, &bytes, &size));
    const Expected<Registration> made = [&] {
      const Unlocked others_run;
      return read_registration({bytes, static_cast<std::size_t>(size)});
    }();
    if (!made) throw Failed{made.error()};
    return wrap(state.registration_type, *made);
  });
}

PyObject* to_json(PyObject* self, PyObject*) {
  return guarded(state_of_instance(self),
                 [&] { return text(write_registration(unwrap<Registration>(self).data())); });
}

template <auto Member>
PyObject* named(PyObject* self, void*) {
  return guarded(state_of_instance(self),
                 [&] { return text(unwrap<Registration>(self).data().*Member); });
}

PyObject* num_blocks(PyObject* self, void*) {
  return guarded(state_of_instance(self),
                 [&] { return number(unwrap<Registration>(self).data().num_blocks); });
}

PyObject* num_groups(PyObject* self, void*) {
  return guarded(state_of_instance(self),
                 [&] { return number(unwrap<Registration>(self).data().groups.size()); });
}

template <auto List, auto Member>
PyObject* names_of(PyObject* self, void*) {
  return guarded(state_of_instance(self), [&] {
    const auto& all = unwrap<Registration>(self).data().*List;
    Ref names = Ref::take(PyTuple_New(static_cast<Py_ssize_t>(all.size())));
    for (std::size_t i = 0; i < all.size(); ++i)
      check(
          PyTuple_SetItem(names.get(), static_cast<Py_ssize_t>(i), text(all[i].*Member).release()));
    return names;
  });
}

PyMethodDef methods[] = {{"to_json", to_json, METH_NOARGS, nullptr}, {}};
PyGetSetDef members[] = {
    {"engine_name", named<&RegistrationData::engine_name>, nullptr, nullptr, nullptr},
    {"engine_version", named<&RegistrationData::engine_version>, nullptr, nullptr, nullptr},
    {"model", named<&RegistrationData::model>, nullptr, nullptr, nullptr},
    {"layout", named<&RegistrationData::layout>, nullptr, nullptr, nullptr},
    {"num_blocks", num_blocks, nullptr, nullptr, nullptr},
    {"num_groups", num_groups, nullptr, nullptr, nullptr},
    {"caches", names_of<&RegistrationData::caches, &Cache::layer>, nullptr, nullptr, nullptr},
    {"storages", names_of<&RegistrationData::storages, &Storage::name>, nullptr, nullptr, nullptr},
    {},
};
PyType_Slot slots[] = {{Py_tp_dealloc, reinterpret_cast<void*>(destroy<Registration>)},
                       {Py_tp_methods, methods},
                       {Py_tp_getset, members},
                       {0, nullptr}};
PyType_Spec spec = {"kvedit._core.Registration", sizeof(Box<Registration>), 0,
                    Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION, slots};
PyMethodDef functions[] = {{"read_registration", read, METH_O, nullptr},
                           {"build_registration", build, METH_O, nullptr},
                           {}};

}  // namespace

void add_registration(PyObject* module, State& state) {
  state.registration_type = make_type(module, spec).release();
  check(PyModule_AddFunctions(module, functions));
}

}  // namespace kvedit::python
