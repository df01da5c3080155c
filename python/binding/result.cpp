#include <kvedit/addresses.hpp>
#include <kvedit/explain.hpp>
#include <kvedit/json.hpp>

#include "module.hpp"
#include "problems.hpp"
#include "views.hpp"

namespace kvedit::python {
namespace {

const Result& result_of(PyObject* self) { return unwrap<Result>(self); }

PyObject* ok(PyObject* self, void*) { return PyBool_FromLong(result_of(self).ok()); }

PyObject* chunk_tokens(PyObject* self, void*) {
  return guarded(state_of_instance(self), [&] {
    const auto tokens = result_of(self).chunk_tokens();
    return tokens ? number(*tokens) : Ref::share(Py_None);
  });
}

PyObject* layer_names(PyObject* self, void*) {
  return guarded(state_of_instance(self), [&] {
    const Result& result = result_of(self);
    Ref names = Ref::take(PyList_New(0));
    for (std::size_t i = 0; i < result.layer_count(); ++i)
      check(PyList_Append(names.get(), text(result.layer(i).name()).get()));
    return names;
  });
}

// Dict: rule → how many layers it edited, in the order of the rules.
PyObject* edits(PyObject* self, void*) {
  return guarded(state_of_instance(self), [&] {
    const Result& result = result_of(self);
    const auto rules = result.rules();
    std::vector<std::int64_t> counts(rules.size(), 0);
    std::size_t last = 0;
    for (std::size_t i = 0; i < result.layer_count(); ++i) {
      const LayerResult layer = result.layer(i);
      if (layer.outcome() != Outcome::edited) continue;
      if (rules[last].id != layer.rule())
        for (last = 0; rules[last].id != layer.rule();) ++last;
      ++counts[last];
    }
    Ref made = Ref::take(PyDict_New());
    for (std::size_t i = 0; i < rules.size(); ++i)
      if (counts[i] > 0)
        check(PyDict_SetItem(made.get(), text(rules[i].id).get(), number(counts[i]).get()));
    return made;
  });
}

PyObject* registration(PyObject* self, void*) {
  const State& state = state_of_instance(self);
  return guarded(state, [&] {
    return wrap(state.registration_type, Registration(result_of(self).registration()));
  });
}

PyObject* problems(PyObject* self, PyObject*) {
  return guarded(state_of_instance(self), [&] { return list_of(result_of(self).problems()); });
}

// Texts are made while other threads run: a report can be long.
template <class Make>
PyObject* rendered(PyObject* self, Make make) {
  return guarded(state_of_instance(self), [&] {
    const Result& result = result_of(self);
    const std::string made = [&] {
      const Unlocked others_run;
      return make(result);
    }();
    return text(made);
  });
}

PyObject* report(PyObject* self, PyObject*) {
  return rendered(self, [](const Result& result) { return write_report(result); });
}

PyObject* explained(PyObject* self, PyObject* colours) {
  return rendered(self, [colours = colours == Py_True](const Result& result) {
    return explain(result, {.colours = colours});
  });
}

PyObject* explained_layer(PyObject* self, PyObject* args) {
  return guarded(state_of_instance(self), [&] {
    const std::string name = to_text(item(args, 0), "layer");
    const Result& result = result_of(self);
    const auto layer = result.find_layer(name);
    if (!layer) throw Failed{{"layer " + name, "the registration has no such layer"}};
    return text(explain_layer(result, *layer, {.colours = item(args, 1) == Py_True}));
  });
}

PyObject* views(PyObject* self, PyObject* args) {
  return guarded(state_of_instance(self),
                 [&] { return make_views(result_of(self), item(args, 0), item(args, 1)); });
}

PyObject* addresses(PyObject* self, PyObject* caches) {
  return guarded(state_of_instance(self),
                 [&] { return live_addresses(result_of(self).registration(), caches); });
}

// (list of layer numbers, list of base addresses or None, whether block by block)
PyObject* address_map(PyObject* self, PyObject* args) {
  const State& state = state_of_instance(self);
  return guarded(state, [&] {
    std::vector<std::size_t> layers;
    for (Py_ssize_t i = 0; i < PyList_Size(item(args, 0)); ++i)
      layers.push_back(
          static_cast<std::size_t>(to_integer(PyList_GetItem(item(args, 0), i), "layers")));
    std::vector<std::uint64_t> bases;
    if (item(args, 1) != Py_None)
      for (Py_ssize_t i = 0; i < PyList_Size(item(args, 1)); ++i) {
        bases.push_back(PyLong_AsUnsignedLongLong(PyList_GetItem(item(args, 1), i)));
        if (PyErr_Occurred()) throw Raised{};
      }
    const Order order = item(args, 2) == Py_True ? Order::block_major : Order::layer_major;
    Expected<AddressMap> map = AddressMap::make(result_of(self), layers, bases, order);
    if (!map) throw Failed{map.error()};
    return wrap(state.addresses_type, *std::move(map));
  });
}

PyMethodDef methods[] = {{"problems", problems, METH_NOARGS, nullptr},
                         {"report", report, METH_NOARGS, nullptr},
                         {"explain", explained, METH_O, nullptr},
                         {"explain_layer", explained_layer, METH_VARARGS, nullptr},
                         {"views", views, METH_VARARGS, nullptr},
                         {"addresses", addresses, METH_O, nullptr},
                         {"address_map", address_map, METH_VARARGS, nullptr},
                         {}};
PyGetSetDef members[] = {{"ok", ok, nullptr, nullptr, nullptr},
                         {"chunk_tokens", chunk_tokens, nullptr, nullptr, nullptr},
                         {"layer_names", layer_names, nullptr, nullptr, nullptr},
                         {"edits", edits, nullptr, nullptr, nullptr},
                         {"registration", registration, nullptr, nullptr, nullptr},
                         {}};
PyType_Slot slots[] = {{Py_tp_dealloc, reinterpret_cast<void*>(destroy<Result>)},
                       {Py_tp_methods, methods},
                       {Py_tp_getset, members},
                       {0, nullptr}};
PyType_Spec spec = {"kvedit._core.Result", sizeof(Box<Result>), 0,
                    Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION, slots};

}  // namespace

void add_result(PyObject* module, State& state) {
  state.result_type = make_type(module, spec).release();
}

}  // namespace kvedit::python
