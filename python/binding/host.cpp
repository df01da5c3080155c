#include <array>
#include <tuple>

#include <kvedit/host.hpp>
#include <kvedit/json.hpp>

#include "capture.hpp"
#include "module.hpp"
#include "problems.hpp"
#include "views.hpp"

namespace kvedit::python {
namespace {

/// A host and whom it tells what it does. The callable is the object's own, so that the garbage
/// collector sees cycles through it.
struct LoggingHost {
  std::optional<Host> host;
  Ref log;
};

const char* level_name(LogLevel level) {
  switch (level) {
    case LogLevel::debug:
      return "debug";
    case LogLevel::info:
      return "info";
    case LogLevel::warning:
      return "warning";
    case LogLevel::error:
      break;
  }
  return "error";
}

// From any thread, with the interpreter held or not. What the callable raises is shown by Python as
// unraisable: an edit does not fail because its log does.
void tell(const Ref& log, LogLevel level, std::string_view message) {
  const PyGILState_STATE held = PyGILState_Ensure();
  if (log) {
    const Ref callable = log;
    try {
      const Ref said = Ref::take(PyObject_CallFunctionObjArgs(
          callable.get(), text(level_name(level)).get(), text(message).get(), nullptr));
    } catch (const Raised&) {
      PyErr_WriteUnraisable(callable.get());
    }
  }
  PyGILState_Release(held);
}

// Tuple (packs, rule_dirs, required_packs, standard_rules, standard_rules_dir, environment).
HostOptions to_options(PyObject* given) {
  HostOptions options;
  options.packs = to_texts(item(given, 0), "packs");
  options.rule_dirs = to_texts(item(given, 1), "rule_dirs");
  options.required_packs = to_texts(item(given, 2), "required_packs");
  options.standard_rules = to_boolean(item(given, 3), "standard_rules");
  options.standard_rules_dir = to_text(item(given, 4), "standard_rules_dir");
  options.environment = to_boolean(item(given, 5), "environment");
  return options;
}

PyObject* open(PyObject* module, PyObject* args) {
  const State& state = state_of(module);
  return guarded(state, [&] {
    HostOptions options = to_options(item(args, 0));
    Ref made = new_box<LoggingHost>(state.host_type);
    auto& box = reinterpret_cast<Box<LoggingHost>*>(made.get())->value.emplace();
    if (item(args, 1) != Py_None) {
      box.log = Ref::share(item(args, 1));
      options.log = [&box](LogLevel level, std::string_view message) {
        tell(box.log, level, message);
      };
    }
    Expected<Host> opened = [&] {
      const Unlocked others_run;
      return Host::open(options);
    }();
    if (!opened) throw Failed{opened.error()};
    box.host.emplace(*std::move(opened));
    return made;
  });
}

const Host& host_of(PyObject* self) { return *unwrap<LoggingHost>(self).host; }

// All there are, for messages and for who asks before there is a host.
constexpr std::array profiles{Profile::native, Profile::packed, Profile::bytes, Profile::lmcache};
constexpr std::array purposes{Purpose::prefix, Purpose::transfer};
constexpr std::array recurrent_rows{RecurrentRows::tight, RecurrentRows::page};

template <class Choices>
auto chosen(PyObject* given, const char* what, const Choices& choices) {
  const std::string name = to_text(given, what);
  std::string known;
  for (const auto choice : choices) {
    if (to_text(choice) == name) return choice;
    known.append(known.empty() ? "" : ", ").append(to_text(choice));
  }
  throw Failed{{what, "\"" + name + "\" is none; there are " + known}};
}

// Of the items after the first.
EditOptions options_of(PyObject* args) {
  EditOptions options;
  options.profile = chosen(item(args, 1), "profile", profiles);
  options.purpose = chosen(item(args, 2), "purpose", purposes);
  options.pass_ungrouped = to_boolean(item(args, 3), "pass_ungrouped");
  options.recurrent_rows = chosen(item(args, 4), "recurrent_rows", recurrent_rows);
  return options;
}

Result edited(const Host& host, const Registration& registration, const EditOptions& options) {
  const Unlocked others_run;
  return host.edit(registration, options);
}

// (registration, profile, purpose, pass_ungrouped, recurrent_rows)
PyObject* edit(PyObject* self, PyObject* args) {
  const State& state = state_of_instance(self);
  return guarded(state, [&] {
    PyObject* registration = item(args, 0);
    if (!PyObject_TypeCheck(registration, reinterpret_cast<PyTypeObject*>(state.registration_type)))
      throw Failed{{"registration", type_name(registration) + " where a Registration is wanted"}};
    return wrap(state.result_type,
                edited(host_of(self), unwrap<Registration>(registration), options_of(args)));
  });
}

// (facts, profile, purpose, pass_ungrouped, recurrent_rows, torch) → (registration, result, views
// or None)
PyObject* edit_live(PyObject* self, PyObject* args) {
  const State& state = state_of_instance(self);
  return guarded(state, [&] {
    Captured captured = capture(item(args, 0), state);
    const Registration registration(std::move(captured.data));
    const Result result = edited(host_of(self), registration, options_of(args));
    Ref views = Ref::share(Py_None);
    if (result.ok()) {
      const LiveCaches live(registration, item(item(args, 0), 9), std::move(captured.storages));
      views = make_views(result, live, item(args, 5));
    }
    return tuple(wrap(state.registration_type, registration), wrap(state.result_type, result),
                 std::move(views));
  });
}

PyObject* rules(PyObject* self, PyObject*) {
  return guarded(state_of_instance(self), [&] { return text(write_rules(host_of(self))); });
}

PyObject* problems(PyObject* self, PyObject*) {
  return guarded(state_of_instance(self), [&] { return list_of(host_of(self).problems()); });
}

int traverse(PyObject* self, visitproc visit, void* arg) {
  Py_VISIT(Py_TYPE(self));
  if (auto& value = reinterpret_cast<Box<LoggingHost>*>(self)->value) Py_VISIT(value->log.get());
  return 0;
}

int clear(PyObject* self) {
  if (auto& value = reinterpret_cast<Box<LoggingHost>*>(self)->value) value->log = Ref();
  return 0;
}

void dealloc(PyObject* self) {
  PyObject_GC_UnTrack(self);
  destroy<LoggingHost>(self);
}

PyMethodDef methods[] = {{"edit", edit, METH_VARARGS, nullptr},
                         {"edit_live", edit_live, METH_VARARGS, nullptr},
                         {"rules", rules, METH_NOARGS, nullptr},
                         {"problems", problems, METH_NOARGS, nullptr},
                         {}};
PyType_Slot slots[] = {{Py_tp_dealloc, reinterpret_cast<void*>(dealloc)},
                       {Py_tp_traverse, reinterpret_cast<void*>(traverse)},
                       {Py_tp_clear, reinterpret_cast<void*>(clear)},
                       {Py_tp_methods, methods},
                       {0, nullptr}};
PyType_Spec spec = {"kvedit._core.Host", sizeof(Box<LoggingHost>), 0,
                    Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION | Py_TPFLAGS_HAVE_GC,
                    slots};
PyMethodDef functions[] = {{"open_host", open, METH_VARARGS, nullptr}, {}};

}  // namespace

void add_host(PyObject* module, State& state) {
  state.host_type = make_type(module, spec).release();
  check(PyModule_AddFunctions(module, functions));
  const Ref names =
      std::apply([](auto... each) { return tuple(text(to_text(each))...); }, profiles);
  check(PyModule_AddObjectRef(module, "profiles", names.get()));
}

}  // namespace kvedit::python
