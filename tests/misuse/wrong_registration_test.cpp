#include <string>
#include <vector>

#include <boost/json.hpp>
#include <catch2/catch.hpp>

#include <kvedit/json.hpp>

#include "small_registration.hpp"

using namespace kvedit;
using kvedit::testing::small_registration;
namespace json = boost::json;

namespace {

/// Sets the value at a pointer, or removes the member when there is none to set.
std::string changed(const std::string& pointer, const json::value* value) {
  json::value document = json::parse(small_registration);
  const std::size_t slash = pointer.rfind('/');
  json::value& parent = document.at_pointer(pointer.substr(0, slash));
  const std::string name = pointer.substr(slash + 1);
  if (parent.is_array())
    parent.get_array().at(std::stoul(name)) = *value;
  else if (value)
    parent.get_object()[name == "a~1b~0c" ? "a/b~c" : name] = *value;
  else
    REQUIRE(parent.get_object().erase(name == "a~1b~0c" ? "a/b~c" : name) == 1);
  return json::serialize(document);
}

Error refused(const std::string& text) {
  const auto registration = read_registration(text);
  INFO(text);
  REQUIRE_FALSE(registration);
  return registration.error();
}

std::string refusal(const std::string& pointer, const json::value& value) {
  const Error error = refused(changed(pointer, &value));
  INFO(pointer << " " << value << ": " << error.message);
  CHECK(error.where == pointer);
  return error.message;
}

void check_read(const std::string& text) {
  const auto registration = read_registration(text);
  INFO(text << (registration ? "" : registration.error().text()));
  CHECK(registration);
}

struct Field {
  std::string pointer;
  json::kind kind;
  bool required;
};

const std::string tensor = "/caches/a~1b~0c";
const std::string spec = "/groups/0/spec";

const std::vector<Field> fields = {
    {"/schema", json::kind::string, true},
    {"/engine", json::kind::object, false},
    {"/engine/name", json::kind::string, false},
    {"/engine/version", json::kind::string, false},
    {"/model", json::kind::string, false},
    {"/layout", json::kind::string, false},
    {"/num_blocks", json::kind::int64, true},
    {"/parallel", json::kind::object, false},
    {"/parallel/tp", json::kind::int64, false},
    {"/parallel/pp", json::kind::int64, false},
    {"/parallel/dcp", json::kind::int64, false},
    {"/parallel/pcp", json::kind::int64, false},
    {"/parallel/cp_interleave", json::kind::int64, false},
    {"/groups", json::kind::array, true},
    {"/groups/0/layers", json::kind::array, true},
    {"/groups/0/spec", json::kind::object, true},
    {"/groups/1/layer_specs/w", json::kind::object, true},
    {"/groups/0/enable_kv_transfer", json::kind::bool_, false},
    {"/groups/0/host_resident", json::kind::bool_, false},
    {"/groups/0/is_eagle_group", json::kind::bool_, false},
    {"/groups/0/role", json::kind::string, false},
    {"/groups/0/num_blocks", json::kind::int64, false},
    {spec + "/type", json::kind::string, true},
    {spec + "/bases", json::kind::array, true},
    {spec + "/kind", json::kind::string, false},
    {spec + "/block_size", json::kind::int64, true},
    {spec + "/page_size_bytes", json::kind::int64, true},
    {spec + "/dtype", json::kind::string, false},
    {spec + "/head_size", json::kind::int64, false},
    {spec + "/prefix_cacheable", json::kind::bool_, false},
    {"/groups/1/layer_specs/w/shapes", json::kind::array, false},
    {"/groups/1/layer_specs/w/dtypes", json::kind::array, false},
    {"/placements", json::kind::array, false},
    {"/placements/0/storage", json::kind::string, true},
    {"/placements/0/layers", json::kind::array, true},
    {"/placements/0/offset", json::kind::int64, true},
    {"/placements/0/layer_stride", json::kind::int64, true},
    {"/placements/0/block_stride", json::kind::int64, true},
    {"/storages", json::kind::object, true},
    {"/storages/s0/nbytes", json::kind::int64, true},
    {"/storages/s0/device", json::kind::string, false},
    {"/backends", json::kind::object, false},
    {"/caches", json::kind::object, true},
    {tensor + "/dtype", json::kind::string, true},
    {tensor + "/shape", json::kind::array, true},
    {tensor + "/stride", json::kind::array, true},
    {tensor + "/storage_offset", json::kind::int64, true},
    {tensor + "/storage", json::kind::string, true},
};

}  // namespace

TEST_CASE("every field of the wrong type is refused at its pointer") {
  const std::vector<json::value> values = {
      true, 7, 64.0, "x", json::array{}, json::object{}, json::array{json::object{}}};
  for (const Field& field : fields)
    for (const json::value& value : values) {
      if (value.kind() == field.kind) continue;
      const std::string message = refusal(field.pointer, value);
      INFO(field.pointer << ": " << message);
      CHECK(message.find(" where ") != std::string::npos);
      CHECK(message.find(" is wanted") != std::string::npos);
    }
}

TEST_CASE("a missing field is refused exactly when it is required") {
  for (const Field& field : fields) {
    const std::string text = changed(field.pointer, nullptr);
    INFO(field.pointer);
    if (!field.required) {
      check_read(text);
      continue;
    }
    const Error error = refused(text);
    CHECK(error.where == field.pointer);
    CHECK(error.message.starts_with("missing"));
  }
}

TEST_CASE("null stands for an optional field that is not given, for no required one") {
  for (const Field& field : fields) {
    const json::value null;
    const std::string text = changed(field.pointer, &null);
    INFO(field.pointer);
    if (field.pointer.ends_with("shapes") || field.pointer.ends_with("dtypes") || !field.required)
      check_read(text);
    else
      CHECK(refused(text).where == field.pointer);
  }
}

TEST_CASE("elements of the wrong type are refused at their pointer") {
  CHECK(refusal("/groups/0", 1) == "1 where an object is wanted");
  CHECK(refusal("/groups/0/layers/0", nullptr) == "null where a string is wanted");
  CHECK(refusal("/placements/0", "p") == "the string \"p\" where an object is wanted");
  CHECK(refusal("/storages/s0", 4096) == "4096 where an object with nbytes and device is wanted");
  CHECK(refusal("/backends/a~1b~0c", 1) == "1 where a string is wanted");
  CHECK(refusal("/caches/a~1b~0c", "t") ==
        "the string \"t\" where a tensor or an array of tensors is wanted");
  CHECK(refusal("/caches/w/0", json::array{}) ==
        "an array where an object that describes a tensor is wanted");
  CHECK(refusal("/caches/a~1b~0c/shape/1", 64.0) == "64.0 where a signed 64-bit integer is wanted");
  CHECK(refusal("/caches/a~1b~0c/stride/0", "1") ==
        "the string \"1\" where a signed 64-bit integer is wanted");
}

TEST_CASE("integers of more than 63 bits are no integers, but an unknown spec field keeps them") {
  const json::value large = std::uint64_t{1} << 63;
  CHECK(refusal("/num_blocks", large) ==
        "9223372036854775808 where a signed 64-bit integer is wanted");
  refusal("/placements/0/offset", large);
  refusal("/groups/0/spec/block_size", large);
  const auto kept = read_registration(changed("/groups/0/spec/extra_field", &large));
  REQUIRE(kept);
  CHECK(*kept->data().groups[0].spec.attribute("extra_field") ==
        Value::json("9223372036854775808"));
}

TEST_CASE("unknown spec fields of any shape are kept") {
  const json::value odd = json::parse(R"([1, [2.5, "x", {"k": [null]}], {}, false])");
  const auto kept = read_registration(changed("/groups/0/spec/extra_field", &odd));
  REQUIRE(kept);
  const Value expected = Value::of(std::vector<Value>{
      Value::of(std::int64_t{1}),
      Value::of(std::vector<Value>{Value::of(2.5), Value::of("x"), Value::json(R"({"k":[null]})")}),
      Value::json("{}"), Value::of(false)});
  CHECK(*kept->data().groups[0].spec.attribute("extra_field") == expected);
}

TEST_CASE("unknown schema, layout, kind and dtype names are refused with what is known") {
  CHECK(refusal("/schema", "kvedit.registration/2") ==
        "\"kvedit.registration/2\" is not a schema this version reads; it reads "
        "\"kvedit.registration/1\"");
  CHECK(refusal("/layout", "XYZ") ==
        "\"XYZ\" is no known layout; known are LBHNC, LBNHC, LHBNC, BLHNC, BLNHC, BHLNC, HND, NHD");
  refusal("/layout", "");
  refusal("/layout", "nhd");
  refusal("/groups/0/spec/kind", "paged");
  refusal("/groups/1/layer_specs/w/dtypes", json::array{"float99"});
  CHECK(refusal("/caches/a~1b~0c/dtype", "torch.int8") ==
        "\"torch.int8\" is no known dtype; give the bytes of one element as itemsize beside it");
}

TEST_CASE("itemsize makes an unknown dtype known and must agree with a known one") {
  const auto registration = read_registration(small_registration);
  REQUIRE(registration);
  CHECK(registration->data().caches[1].tensors[0].dtype == opaque_dtype("odd24", 3));
  const json::value one = 1;
  check_read(changed("/caches/a~1b~0c/itemsize", &one));
  CHECK(refusal("/caches/a~1b~0c/itemsize", 2) == "2 bytes, but an element of int8 has 1");
  CHECK(refusal("/caches/w/0/itemsize", 0) == "0 where 1 to 256 bytes are wanted");
  refusal("/caches/w/0/itemsize", 257);
  refusal("/caches/w/0/itemsize", INT64_MIN);
  refusal("/caches/w/0/itemsize", 3.0);
}

TEST_CASE("a wrapper without the spec of one of its layers is refused") {
  const Error error = refused(changed("/groups/1/layer_specs", nullptr));
  CHECK(error.where == "/groups/1/layer_specs/w");
  CHECK(error.message ==
        "missing; a group of UniformTypeKVCacheSpecs gives the spec of each layer");
  json::value none = json::array{};
  check_read(changed("/groups/1/layers", &none));
}

TEST_CASE("what is well formed but means nothing is left to the host") {
  const auto reads = [](const std::string& pointer, const json::value& value) {
    check_read(changed(pointer, &value));
  };
  for (const std::int64_t number : {std::int64_t{0}, std::int64_t{-1}, INT64_MIN, INT64_MAX}) {
    reads("/num_blocks", number);
    reads("/parallel/dcp", number);
    reads("/groups/0/num_blocks", number);
    reads("/groups/0/spec/block_size", number);
    reads("/groups/0/spec/page_size_bytes", number);
    reads("/placements/0/offset", number);
    reads("/placements/0/block_stride", number);
    reads("/storages/s0/nbytes", number);
    reads("/caches/a~1b~0c/shape/0", number);
    reads("/caches/a~1b~0c/stride/0", number);
    reads("/caches/a~1b~0c/storage_offset", number);
  }
  reads("/caches/a~1b~0c/storage", "nowhere");
  reads("/caches/a~1b~0c/shape", json::array{});
  reads("/caches/w", json::array{});
  reads("/caches", json::object{});
  reads("/groups", json::array{});
  reads("/groups/0/layers", json::array{"a/b~c", "a/b~c"});
  reads("/storages", json::object{});
  reads("/extra", json::object{});
  reads("/groups/0/extra", 1.5);
}
