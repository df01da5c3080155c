#include "given_registrations.hpp"

#include <boost/json.hpp>
#include <catch2/catch.hpp>

#include <kvedit/json.hpp>

using namespace kvedit;
using kvedit::testing::file_text;
using kvedit::testing::given_registrations;
namespace json = boost::json;

namespace {

Registration read(const std::filesystem::path& path) {
  auto registration = read_registration(file_text(path));
  INFO(path.filename() << (registration ? "" : registration.error().text()));
  REQUIRE(registration);
  return std::move(*registration);
}

std::vector<std::string> strings(const json::value& array) {
  return json::value_to<std::vector<std::string>>(array);
}

std::vector<std::int64_t> integers(const json::value& array) {
  return json::value_to<std::vector<std::int64_t>>(array);
}

template <class T>
T member(const json::object& object, std::string_view name, T otherwise) {
  const auto* found = object.if_contains(name);
  return found ? json::value_to<T>(*found) : otherwise;
}

void compare(const Value& value, const json::value& given) {
  if (given.is_object()) {
    REQUIRE(value.kind == Value::Kind::json);
    CHECK(json::parse(value.text) == given);
  } else if (given.is_array()) {
    REQUIRE(value.kind == Value::Kind::list);
    REQUIRE(value.items.size() == given.get_array().size());
    for (std::size_t i = 0; i < value.items.size(); ++i)
      compare(value.items[i], given.get_array()[i]);
  } else if (given.is_string()) {
    CHECK(value == Value::of(std::string_view(given.get_string())));
  } else if (given.is_bool()) {
    CHECK(value == Value::of(given.get_bool()));
  } else if (given.is_null()) {
    CHECK(value == Value());
  } else {
    CHECK(value == Value::of(given.to_number<std::int64_t>()));
  }
}

void compare(const Spec& spec, const json::object& given) {
  CHECK(spec.type == given.at("type").as_string());
  CHECK(spec.bases == strings(given.at("bases")));
  CHECK(to_text(spec.kind) == given.at("kind").as_string());
  CHECK(spec.block_size == given.at("block_size").as_int64());
  CHECK(spec.page_size_bytes == given.at("page_size_bytes").as_int64());
  REQUIRE(spec.attributes.size() == given.size());
  std::size_t i = 0;
  for (const auto& [name, value] : given) {
    CHECK(spec.attributes[i].name == name);
    compare(spec.attributes[i++].value, value);
  }
}

void compare(const Group& group, const json::object& given) {
  CHECK(group.layers == strings(given.at("layers")));
  CHECK(group.enable_kv_transfer == member(given, "enable_kv_transfer", true));
  CHECK(group.host_resident == member(given, "host_resident", false));
  CHECK(group.is_eagle_group == member(given, "is_eagle_group", false));
  CHECK(group.role == member(given, "role", std::string()));
  CHECK(group.num_blocks.value_or(-1) == member(given, "num_blocks", std::int64_t{-1}));
  compare(group.spec, given.at("spec").as_object());
  const json::object leaves = member(given, "layer_specs", json::object());
  REQUIRE(group.layer_specs.size() == leaves.size());
  for (const auto& [layer, spec] : leaves)
    compare(group.layer_specs.at(std::string(layer)), spec.as_object());
}

void compare(const Tensor& tensor, const json::object& given) {
  CHECK(tensor.dtype.name == given.at("dtype").as_string());
  CHECK(tensor.dtype.itemsize == find_dtype(tensor.dtype.name)->itemsize);
  CHECK(tensor.shape == integers(given.at("shape")));
  CHECK(tensor.stride == integers(given.at("stride")));
  CHECK(tensor.storage_offset == given.at("storage_offset").as_int64());
  CHECK(tensor.storage == given.at("storage").as_string());
}

void compare(const std::vector<Cache>& caches, const json::object& given) {
  REQUIRE(caches.size() == given.size());
  std::size_t i = 0;
  for (const auto& [layer, cache] : given) {
    CHECK(caches[i].layer == layer);
    CHECK(caches[i].is_list == cache.is_array());
    const json::array tensors = cache.is_array() ? cache.get_array() : json::array{cache};
    REQUIRE(caches[i].tensors.size() == tensors.size());
    for (std::size_t t = 0; t < tensors.size(); ++t)
      compare(caches[i].tensors[t], tensors[t].as_object());
    ++i;
  }
}

void compare(const std::vector<Placement>& placements, const json::array& given) {
  REQUIRE(placements.size() == given.size());
  for (std::size_t i = 0; i < given.size(); ++i) {
    const json::object& each = given[i].as_object();
    CHECK(placements[i].storage == each.at("storage").as_string());
    CHECK(placements[i].layers == strings(each.at("layers")));
    CHECK(placements[i].offset == each.at("offset").as_int64());
    CHECK(placements[i].layer_stride == each.at("layer_stride").as_int64());
    CHECK(placements[i].block_stride == each.at("block_stride").as_int64());
  }
}

void compare(const RegistrationData& data, const json::object& given) {
  CHECK(data.engine_name == given.at("engine").at("name").as_string());
  CHECK(data.engine_version == given.at("engine").at("version").as_string());
  CHECK(data.model == given.at("model").as_string());
  CHECK(data.layout == given.at("layout").as_string());
  CHECK(data.num_blocks == given.at("num_blocks").as_int64());
  CHECK(data.parallel.dcp == given.at("parallel").at("dcp").as_int64());
  const json::array& groups = given.at("groups").as_array();
  REQUIRE(data.groups.size() == groups.size());
  for (std::size_t g = 0; g < groups.size(); ++g) compare(data.groups[g], groups[g].as_object());
  compare(data.placements, member(given, "placements", json::array()));
  const json::object& storages = given.at("storages").as_object();
  REQUIRE(data.storages.size() == storages.size());
  for (std::size_t s = 0; s < storages.size(); ++s) {
    const auto& [name, storage] = *(storages.begin() + s);
    CHECK(data.storages[s].name == name);
    CHECK(data.storages[s].nbytes == storage.at("nbytes").as_int64());
    CHECK(data.storages[s].device == storage.at("device").as_string());
  }
  const json::object backends = member(given, "backends", json::object());
  REQUIRE(data.backends.size() == backends.size());
  for (const auto& [layer, backend] : backends)
    CHECK(data.backends.at(std::string(layer)) == backend.as_string());
  compare(data.caches, given.at("caches").as_object());
}

}  // namespace

TEST_CASE("every given registration is read as a plain JSON parser shows it") {
  const auto paths = given_registrations();
  REQUIRE(paths.size() == 59);
  for (const auto& path : paths) {
    INFO(path.filename());
    compare(read(path).data(), json::parse(file_text(path)).as_object());
  }
}

TEST_CASE("a registration whose values we know is read right") {
  const auto of = [](std::string_view name) {
    return read(std::filesystem::path(KVEDIT_TEST_DATA "/registrations") / name);
  };
  const Registration tuple = of("kv-tuple-two-allocations.json");
  CHECK(tuple.data().engine_version == "0.24.0");
  CHECK(tuple.data().layout == "NHD");
  CHECK(tuple.data().num_blocks == 27);
  CHECK(tuple.data().storages.size() == 6);
  REQUIRE(tuple.data().caches.size() == 3);
  CHECK(tuple.data().caches[2].is_list);
  REQUIRE(tuple.data().caches[2].tensors.size() == 2);
  CHECK(tuple.data().caches[2].tensors[1].storage == "v2");
  CHECK(tuple.data().caches[2].tensors[1].shape == std::vector<std::int64_t>{27, 128, 8, 128});

  const Registration four = of("four-states-per-token.json");
  REQUIRE(four.data().groups.size() == 1);
  CHECK(four.data().groups[0].spec.tokens_per_state == Ratio{1, 4});
  CHECK(four.data().groups[0].spec.num_states == 64);
  CHECK(four.data().groups[0].spec.kind == kvedit::Kind::full_attention);
  CHECK(*four.data().groups[0].spec.attribute("tokens_per_state") == Value::of("1/4"));
}
