#include "capture.hpp"

#include <memory_resource>
#include <unordered_map>

#include "tensor.hpp"

namespace kvedit::python {
namespace {

// Visits the items of a list that our own Python code made; `name` is what errors call it.
template <class Visit>
void each(PyObject* list, const char* name, Visit visit) {
  const Py_ssize_t size = PyList_Size(list);
  if (size < 0) throw Raised{};
  for (Py_ssize_t i = 0; i < size; ++i)
    within([&] { return std::string("/") + name + "/" + std::to_string(i); },
           [&] { visit(i, PyList_GetItem(list, i)); });
}

const Spec& spec_of(PyObject* given, const State& state) {
  if (!PyObject_TypeCheck(given, reinterpret_cast<PyTypeObject*>(state.spec_type)))
    throw Failed{{"/spec", type_name(given) + " where a _core.Spec is wanted"}};
  return unwrap<Spec>(given);
}

void read_group(PyObject* given, const State& state, Group& group) {
  group.layers = to_texts(item(given, 0), "/layers");
  group.spec = spec_of(item(given, 1), state);
  PyObject *name = nullptr, *spec = nullptr;
  for (Py_ssize_t at = 0; PyDict_Next(item(given, 2), &at, &name, &spec);)
    group.layer_specs.emplace(to_text(name, "/layer_specs"), spec_of(spec, state));
  group.enable_kv_transfer = to_boolean(item(given, 3), "/enable_kv_transfer");
  group.host_resident = to_boolean(item(given, 4), "/host_resident");
  group.is_eagle_group = to_boolean(item(given, 5), "/is_eagle_group");
  group.role = to_text(item(given, 6), "/role");
  if (item(given, 7) != Py_None) group.num_blocks = to_integer(item(given, 7), "/num_blocks");
}

// The last item is its number among the engine's, some of which place nothing: for errors.
void read_placement(PyObject* given, Placement& placement) {
  const auto place = [&] {
    return "/placements/" + std::to_string(to_integer(item(given, 4), ""));
  };
  within(place, [&] {
    placement.layers = to_texts(item(given, 0), "/layers");
    placement.offset = to_integer(item(given, 1), "/offset");
    placement.layer_stride = to_integer(item(given, 2), "/layer_stride");
    placement.block_stride = to_integer(item(given, 3), "/block_stride");
  });
}

std::string storage_name(std::size_t number) {
  std::string name = "s";
  return name += std::to_string(number);
}

void read_cache(PyObject* name, PyObject* given, TensorReader& reader, Cache& cache) {
  cache.layer = to_text(name, "/caches");
  const GivenTensors tensors(given);
  cache.is_list = tensors.is_list();
  cache.tensors.resize(tensors.size());
  for (std::size_t t = 0; t < cache.tensors.size(); ++t) {
    const std::ptrdiff_t at = cache.is_list ? static_cast<std::ptrdiff_t>(t) : -1;
    TensorFacts facts = reader.read(tensors[t], {"/caches/", cache.layer, at});
    Tensor& tensor = cache.tensors[t];
    tensor.dtype = *facts.dtype;
    tensor.shape = std::move(facts.shape);
    tensor.stride = std::move(facts.stride);
    tensor.storage_offset = facts.storage_offset;
    tensor.storage = storage_name(facts.storage);
  }
}

std::vector<LiveStorage> add_caches(PyObject* given, RegistrationData& data) {
  TensorReader reader;
  const Py_ssize_t size = PyList_Size(given);
  data.caches.resize(static_cast<std::size_t>(size));
  for (Py_ssize_t i = 0; i < size; ++i) {
    PyObject* pair = PyList_GetItem(given, i);
    read_cache(item(pair, 0), item(pair, 1), reader, data.caches[static_cast<std::size_t>(i)]);
  }
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
  std::pmr::monotonic_buffer_resource memory(64 * data.caches.size() + 1);
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
  each(item(facts, 6), "groups", [&](Py_ssize_t at, PyObject* group) {
    read_group(group, state, data.groups[static_cast<std::size_t>(at)]);
  });
  PyObject* placements = item(facts, 7);
  data.placements.resize(static_cast<std::size_t>(PyList_Size(placements)));
  for (std::size_t i = 0; i < data.placements.size(); ++i)
    read_placement(PyList_GetItem(placements, static_cast<Py_ssize_t>(i)), data.placements[i]);
  PyObject *layer = nullptr, *backend = nullptr;
  for (Py_ssize_t at = 0; PyDict_Next(item(facts, 8), &at, &layer, &backend);)
    data.backends.emplace(to_text(layer, "/backends"), to_text(backend, "/backends"));
  captured.storages = add_caches(item(facts, 9), data);
  place(data);
  return captured;
}

}  // namespace kvedit::python
