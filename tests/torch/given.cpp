#include "given.hpp"

#include <c10/core/ScalarTypeToTypeMeta.h>
#include <c10/core/TensorImpl.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <stdexcept>
#include <utility>

using kvedit::Expected;

namespace {

template <class T>
T must(Expected<T> value) {
  if (!value) throw std::runtime_error(value.error().text());
  return *std::move(value);
}

}  // namespace

const kvedit::Host& standard_host() {
  static const kvedit::Host host = must([] {
    kvedit::HostOptions options;
    options.standard_rules_dir = KVEDIT_RULES_DIR;
    return kvedit::Host::open(options);
  }());
  return host;
}

kvedit::Registration read_given(const std::string& name) {
  std::ifstream file(KVEDIT_TEST_DATA "/registrations/" + name + ".json", std::ios::binary);
  std::ostringstream text;
  text << file.rdbuf();
  return must(kvedit::read_registration(text.str()));
}

std::vector<std::string> served_registrations() {
  std::vector<std::string> names;
  for (const auto& each : std::filesystem::directory_iterator(KVEDIT_TEST_DATA "/registrations"))
    if (each.path().extension() == ".json") {
      const std::string name = each.path().stem().string();
      if (standard_host().edit(read_given(name)).ok()) names.push_back(name);
    }
  std::sort(names.begin(), names.end());
  return names;
}

Given::Given(const std::string& name)
    : registration(read_given(name)),
      result(standard_host().edit(registration)),
      memory(must(RegisteredMemory::reserve(registration))) {}

kvedit::torch::LayerTensors Given::tensors(const std::string& layer) const {
  for (const kvedit::torch::LayerTensors& each : memory.tensors())
    if (each.layer == layer) return each;
  return {layer, {}};
}

std::vector<at::TensorBase> Given::in_result_order() const {
  std::vector<at::TensorBase> all;
  for (std::size_t i = 0; i < result.layer_count(); ++i)
    for (const at::TensorBase& each : tensors(std::string(result.layer(i).name())).tensors)
      all.push_back(each);
  return all;
}

at::TensorBase tensor_like(const at::TensorBase& tensor, const c10::Storage& storage,
                           const std::vector<std::int64_t>& shape,
                           const std::vector<std::int64_t>& stride, std::int64_t storage_offset,
                           at::ScalarType type) {
  auto made = c10::make_intrusive<c10::TensorImpl>(c10::Storage(storage), tensor.key_set(),
                                                   c10::scalarTypeToTypeMeta(type));
  made->set_sizes_and_strides(shape, stride, storage_offset);
  return at::TensorBase(std::move(made));
}
