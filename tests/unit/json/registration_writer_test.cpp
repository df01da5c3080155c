#include <catch2/catch.hpp>

#include <kvedit/json.hpp>

#include "given_registrations.hpp"

using namespace kvedit;
using kvedit::testing::file_text;
using kvedit::testing::given_registrations;

namespace {

bool same(const Group& a, const Group& b) {
  return a.layers == b.layers && a.spec == b.spec && a.layer_specs == b.layer_specs &&
         a.enable_kv_transfer == b.enable_kv_transfer && a.host_resident == b.host_resident &&
         a.is_eagle_group == b.is_eagle_group && a.role == b.role && a.num_blocks == b.num_blocks;
}

bool same(const Placement& a, const Placement& b) {
  return a.storage == b.storage && a.layers == b.layers && a.offset == b.offset &&
         a.layer_stride == b.layer_stride && a.block_stride == b.block_stride;
}

bool same(const Storage& a, const Storage& b) {
  return a.name == b.name && a.nbytes == b.nbytes && a.device == b.device;
}

bool same(const Cache& a, const Cache& b) {
  return a.layer == b.layer && a.tensors == b.tensors && a.is_list == b.is_list;
}

template <class T>
bool same(const std::vector<T>& a, const std::vector<T>& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](const T& x, const T& y) { return same(x, y); });
}

void check_same(const RegistrationData& a, const RegistrationData& b) {
  CHECK(a.engine_name == b.engine_name);
  CHECK(a.engine_version == b.engine_version);
  CHECK(a.model == b.model);
  CHECK(a.layout == b.layout);
  CHECK(a.num_blocks == b.num_blocks);
  CHECK(a.parallel.tp == b.parallel.tp);
  CHECK(a.parallel.pp == b.parallel.pp);
  CHECK(a.parallel.dcp == b.parallel.dcp);
  CHECK(a.parallel.pcp == b.parallel.pcp);
  CHECK(a.parallel.cp_interleave == b.parallel.cp_interleave);
  CHECK(same(a.groups, b.groups));
  CHECK(same(a.placements, b.placements));
  CHECK(same(a.storages, b.storages));
  CHECK(same(a.caches, b.caches));
  CHECK(a.backends == b.backends);
}

Registration read(std::string_view text) {
  auto registration = read_registration(text);
  INFO(text << (registration ? "" : registration.error().text()));
  REQUIRE(registration);
  return std::move(*registration);
}

Spec odd_spec() {
  std::vector<Attribute> fields = {
      {"type", Value::of("NewSpec")},
      {"bases", Value::of(std::vector<Value>{Value::of("A"), Value::of("B")})},
      {"block_size", Value::of(std::int64_t{16})},
      {"page_size_bytes", Value::of(INT64_MIN)},
      {"null", {}},
      {"on", Value::of(true)},
      {"tenth", Value::of(0.1)},
      {"whole", Value::of(64.0)},
      {"tiny", Value::of(5e-324)},
      {"text", Value::of(std::string_view("\0\"\\\n/é😀", 12))},
      {"nested",
       Value::of(std::vector<Value>{
           Value::of(std::vector<Value>{}), {}, Value::json(R"({"a":[1,2.5,{"b":null}]})")})},
      {"object", Value::json(R"({"multiple_of":64})")},
      {"large", Value::json("18446744073709551615")},
      {"", Value::of(std::int64_t{-1})}};
  auto spec = make_spec({}, {}, std::move(fields));
  REQUIRE(spec);
  return *spec;
}

RegistrationData odd_registration() {
  RegistrationData data;
  data.engine_name = "an \"engine\"";
  data.num_blocks = INT64_MAX;
  data.parallel = {2, 3, 4, 5, 6};
  data.groups.resize(2);
  data.groups[0].layers = {"a/b~c", "", "\n"};
  data.groups[0].spec = odd_spec();
  data.groups[0].layer_specs = {{"x", odd_spec()}, {"", odd_spec()}};
  data.groups[0].enable_kv_transfer = false;
  data.groups[0].host_resident = true;
  data.groups[0].is_eagle_group = true;
  data.groups[0].role = "draft";
  data.groups[0].num_blocks = -7;
  data.groups[1].spec = odd_spec();
  data.placements = {{"nowhere", {"q", ""}, INT64_MIN, -1, INT64_MAX}};
  data.storages = {{"s", -1, ""}, {"", 0, "cpu"}};
  Tensor tensor{*find_dtype("bfloat16"), {0, -1}, {1, 2, 3}, INT64_MIN, "s"};
  Tensor unknown{opaque_dtype("posit\"24", 3), {}, {}, 0, ""};
  data.caches = {{"one", {tensor}, false},
                 {"list of one", {unknown}, true},
                 {"none", {}, true},
                 {"", {tensor, unknown}, true}};
  data.backends = {{"a", "b"}, {"", ""}};
  return data;
}

}  // namespace

TEST_CASE("reading what was written gives the same registration back") {
  for (const auto& path : given_registrations()) {
    INFO(path.filename());
    const Registration first = read(file_text(path));
    const std::string text = write_registration(first.data());
    const Registration second = read(text);
    check_same(first.data(), second.data());
    CHECK(write_registration(second.data()) == text);
  }
}

TEST_CASE("odd but representable registrations survive writing and reading") {
  const RegistrationData data = odd_registration();
  check_same(data, read(write_registration(data)).data());
  RegistrationData empty;
  check_same(empty, read(write_registration(empty)).data());
}

TEST_CASE("a spec made from separate names is written with them") {
  RegistrationData data;
  auto spec = make_spec("MambaSpec", {"KVCacheSpec"},
                        {{"block_size", Value::of(std::int64_t{1})},
                         {"page_size_bytes", Value::of(std::int64_t{2})}});
  REQUIRE(spec);
  data.groups.resize(1);
  data.groups[0].spec = *spec;
  const Registration again = read(write_registration(data));
  CHECK(again.data().groups[0].spec.type == "MambaSpec");
  CHECK(again.data().groups[0].spec.bases == std::vector<std::string>{"KVCacheSpec"});
  CHECK(again.data().groups[0].spec.kind == kvedit::Kind::mamba);
}
