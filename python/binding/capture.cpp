#include "capture.hpp"

#include <memory_resource>
#include <unordered_map>

#include "tensor.hpp"

namespace kvedit::python {
namespace {

std::string numbered(const char* list, Py_ssize_t at) {
  return std::string("/") + list + "/" + std::to_string(at);
}

// Visits the items of a list that our own Python code made.
template <class Visit>
void each(PyObject* list, Visit visit) {
  const Py_ssize_t size = PyList_Size(list);
  if (size < 0) throw Raised{};
  for (Py_ssize_t i = 0; i < size; ++i) visit(i, PyList_GetItem(list, i));
}

const Spec& spec_of(PyObject* given, const State& state) {
  if (!PyObject_TypeCheck(given, reinterpret_cast<PyTypeObject*>(state.spec_type)))
    throw Failed{{"/groups", type_name(given) + " where a _core.Spec is wanted"}};
  return unwrap<Spec>(given);
}

void read_group(PyObject* given, const std::string& where, const State& state, Group& group) {
  group.layers = to_texts(item(given, 0), where + "/layers");
  group.spec = spec_of(item(given, 1), state);
  PyObject *name = nullptr, *spec = nullptr;
  for (Py_ssize_t at = 0; PyDict_Next(item(given, 2), &at, &name, &spec);) {
    group.layer_specs.emplace(to_text(name, where + "/layer_specs"), spec_of(spec, state));
  }
  group.enable_kv_transfer = to_boolean(item(given, 3), where + "/enable_kv_transfer");
  group.host_resident = to_boolean(item(given, 4), where + "/host_resident");
  group.is_eagle_group = to_boolean(item(given, 5), where + "/is_eagle_group");
  group.role = to_text(item(given, 6), where + "/role");
  if (item(given, 7) != Py_None)
    group.num_blocks = to_integer(item(given, 7), where + "/num_blocks");
}

Placement to_placement(PyObject* given, const std::string& where) {
  Placement placement;
  placement.layers = to_texts(item(given, 0), where + "/layers");
  placement.offset = to_integer(item(given, 1), where + "/offset");
  placement.layer_stride = to_integer(item(given, 2), where + "/layer_stride");
  placement.block_stride = to_integer(item(given, 3), where + "/block_stride");
  return placement;
}

std::string storage_name(std::size_t number) {
  std::string name = "s";
  return name += std::to_string(number);
}

std::vector<LiveStorage> add_caches(PyObject* given, RegistrationData& data) {
  TensorReader reader;
  data.caches.reserve(static_cast<std::size_t>(PyList_Size(given)));
  each(given, [&](Py_ssize_t, PyObject* pair) {
    Cache cache;
    cache.layer = to_text(item(pair, 0), "/caches");
    const GivenTensors tensors(item(pair, 1));
    cache.is_list = tensors.is_list();
    cache.tensors.reserve(tensors.size());
    for (std::size_t t = 0; t < tensors.size(); ++t) {
      const std::ptrdiff_t at = cache.is_list ? static_cast<std::ptrdiff_t>(t) : -1;
      TensorFacts facts = reader.read(tensors[t], {"/caches/", cache.layer, at});
      cache.tensors.push_back({*facts.dtype, std::move(facts.shape), std::move(facts.stride),
                               facts.storage_offset, storage_name(facts.storage)});
    }
    data.caches.push_back(std::move(cache));
  });
  for (std::size_t i = 0; i < reader.storages().size(); ++i) {
    const LiveStorage& live = reader.storages()[i];
    data.storages.push_back({storage_name(i), live.nbytes, live.device});
  }
  return reader.storages();
}

// Each placement lies in the storage of the first of its layers that has a tensor; one without such
// a layer says nothing of what is registered and is left out.
void place(RegistrationData& data) {
  if (data.placements.empty()) return;
  std::pmr::monotonic_buffer_resource memory(64 * data.caches.size());
  std::pmr::unordered_map<std::string_view, const Cache*> by_name(data.caches.size(), &memory);
  for (const Cache& cache : data.caches) by_name.emplace(cache.layer, &cache);
  std::vector<Placement> placed;
  for (Placement& placement : data.placements) {
    for (const std::string& layer : placement.layers) {
      const auto found = by_name.find(layer);
      if (found == by_name.end() || found->second->tensors.empty()) continue;
      placement.storage = found->second->tensors.front().storage;
      placed.push_back(std::move(placement));
      break;
    }
  }
  data.placements = std::move(placed);
}

void set_head(PyObject* facts, RegistrationData& data) {
  data.engine_name = to_text(item(facts, 0), "/engine/name");
  data.engine_version = to_text(item(facts, 1), "/engine/version");
  data.model = to_text(item(facts, 2), "/model");
  data.layout = to_text(item(facts, 3), "/layout");
  data.num_blocks = to_integer(item(facts, 4), "/num_blocks");
  PyObject* parallel = item(facts, 5);
  std::int64_t* const sizes[] = {&data.parallel.tp, &data.parallel.pp, &data.parallel.dcp,
                                 &data.parallel.pcp, &data.parallel.cp_interleave};
  for (Py_ssize_t i = 0; i < 5; ++i) *sizes[i] = to_integer(item(parallel, i), "/parallel");
}

}  // namespace

Captured capture(PyObject* facts, const State& state) {
  Captured captured;
  RegistrationData& data = captured.data;
  set_head(facts, data);
  data.groups.resize(static_cast<std::size_t>(PyList_Size(item(facts, 6))));
  each(item(facts, 6), [&](Py_ssize_t at, PyObject* group) {
    read_group(group, numbered("groups", at), state, data.groups[static_cast<std::size_t>(at)]);
  });
  each(item(facts, 7), [&](Py_ssize_t at, PyObject* placement) {
    data.placements.push_back(to_placement(placement, numbered("placements", at)));
  });
  PyObject *layer = nullptr, *backend = nullptr;
  for (Py_ssize_t at = 0; PyDict_Next(item(facts, 8), &at, &layer, &backend);)
    data.backends.emplace(to_text(layer, "/backends"), to_text(backend, "/backends"));
  captured.storages = add_caches(item(facts, 9), data);
  place(data);
  return captured;
}

}  // namespace kvedit::python
