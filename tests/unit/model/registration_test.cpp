#include <kvedit/registration.hpp>

#include <algorithm>
#include <span>

#include <catch2/catch.hpp>

#include "layers.hpp"
#include "model/index.hpp"

using namespace kvedit;
using namespace kvedit::testing;

namespace {

/// Two layers of one group in one storage, from the given elements on.
RegistrationData two_layers(std::int64_t first, std::int64_t second) {
  RegistrationData data = dense_data({"a", "b"});
  data.storages[0].nbytes = 1 << 20;
  for (Cache& cache : data.caches) cache.tensors[0].storage = data.storages[0].name;
  data.caches[0].tensors[0].storage_offset = first;
  data.caches[1].tensors[0].storage_offset = second;
  return data;
}

std::int32_t twin_of_second(const RegistrationData& data) {
  const Registration registration(data);
  CHECK(registration.index().layers[0].twin == -1);
  return registration.index().layers[1].twin;
}

std::vector<Tensor> pair_at(std::int64_t first, std::int64_t second, const char* storage = "s0",
                            const char* other = "s0") {
  return {tensor("bfloat16", {4, 8}, {64, 1}, first, storage),
          tensor("float32", {4, 8}, {32, 1}, second, other)};
}

}  // namespace

TEST_CASE("alike: tensors that differ only in place and storage name") {
  CHECK(alike(pair_at(0, 16), pair_at(100, 66)));  // 64 bytes apart in both
  CHECK(hash_alike(pair_at(0, 16)) == hash_alike(pair_at(100, 66)));
  CHECK(alike(pair_at(0, 16, "a", "a"), pair_at(0, 16, "b", "b")));
  CHECK(alike(pair_at(0, 16, "a", "b"), pair_at(7, 99, "c", "d")));
}

TEST_CASE("alike: distance within a storage, storages, shape, stride and dtype tell apart") {
  const auto base = pair_at(0, 16);
  CHECK_FALSE(alike(base, pair_at(0, 17)));
  CHECK_FALSE(alike(base, pair_at(0, 16, "a", "b")));
  CHECK_FALSE(alike(base, std::span(base).first(1)));
  auto other = base;
  other[1].shape[1] = 4;
  CHECK_FALSE(alike(base, other));
  other = base;
  other[1].stride[0] = 33;
  CHECK_FALSE(alike(base, other));
  other = base;
  other[1].dtype = *find_dtype("int32");
  CHECK_FALSE(alike(base, other));
}

TEST_CASE("alike: hostile offsets do not overflow") {
  CHECK_FALSE(alike(pair_at(INT64_MIN, INT64_MAX), pair_at(INT64_MAX, INT64_MIN)));
  CHECK(alike(pair_at(INT64_MAX, INT64_MAX), pair_at(INT64_MAX, INT64_MAX)));
}

TEST_CASE("index: layers by group with cache, leaf and placement; caches of no group") {
  RegistrationData data = dense_data({"a", "b"});
  data.groups.push_back(dense_group());
  add_dense_layer(data, 1, "c");
  data.groups[1].layers.push_back("d");  // no cache
  data.groups[1].layer_specs.emplace("c", spec("SlidingWindowSpec", 16, 1024));
  data.groups[1].layer_specs.emplace("never", spec("MambaSpec", 16, 1024));
  data.caches.push_back({"lone", data.caches[0].tensors, false});
  data.placements.push_back({"storage of b", {"x", "b"}, 100, 4096, 1024});
  const Registration registration(data);
  const RegistrationIndex& index = registration.index();

  REQUIRE(index.layers.size() == 4);
  CHECK(*index.layers[0].name == "a");
  CHECK(index.layers[0].cache == 0);
  CHECK(index.layers[0].placement == -1);
  CHECK(index.layers[1].placement == 0);
  CHECK(index.layers[1].placed_at == 100 + 4096);
  CHECK(index.layers[1].placed_storage == 1);
  CHECK(index.layers[2].group == 1);
  CHECK(index.layers[2].spec->kind == Kind::sliding_window);
  CHECK(index.layers[3].cache == -1);
  CHECK(index.layers[3].spec->kind == Kind::full_attention);
  CHECK(index.ungrouped == std::vector<std::int32_t>{3});
  CHECK(index.places_of(3)[0].storage == 0);
  CHECK(index.places_of(3)[0].begin == 0);
  CHECK(index.repeated.empty());
}

TEST_CASE("index: equal specs, tensors and flags are one address or number") {
  RegistrationData data = dense_data({"a", "b"});
  data.groups.push_back(dense_group());
  add_dense_layer(data, 1, "c");
  data.groups.push_back(dense_group());
  data.groups[2].is_eagle_group = true;
  data.caches[2].tensors[0] = contiguous("float16", {4, 1, 16, 32}, 0, "storage of c");
  const Registration registration(data);
  const RegistrationIndex& index = registration.index();
  CHECK(index.layers[0].spec == index.layers[1].spec);
  CHECK(index.layers[0].spec == index.layers[2].spec);
  CHECK(index.alike_cache == std::vector<std::int32_t>{0, 0, 2});
  CHECK(index.alike_group == std::vector<std::int32_t>{0, 0, 2});
}

TEST_CASE("index: names given twice are kept, and the first has them") {
  RegistrationData data = dense_data({"a", "b"});
  data.groups[0].layers.push_back("a");
  data.caches.push_back({"b", data.caches[0].tensors, false});
  data.storages.push_back({"storage of a", 1, "cpu"});
  const Registration registration(data);
  const RegistrationIndex& index = registration.index();
  std::vector<std::string> repeated;
  for (const std::string* name : index.repeated) repeated.push_back(*name);
  std::sort(repeated.begin(), repeated.end());
  CHECK(repeated == std::vector<std::string>{"a", "b", "storage of a"});
  CHECK(index.layers[1].cache == 1);
  CHECK(index.places_of(0)[0].storage == 0);
}

TEST_CASE("index: an unknown storage has no number, and placements of hostile size are summed") {
  RegistrationData data = dense_data({"a"});
  data.caches[0].tensors[0].storage = "nowhere";
  data.placements.push_back({"storage of a", {"x", "y", "z", "a"}, INT64_MAX, INT64_MAX, 1});
  const Registration registration(data);
  CHECK(registration.index().places_of(0)[0].storage == -1);
  CHECK(registration.index().layers[0].placed_at == Int128{INT64_MAX} * 4);
}

TEST_CASE("index: where a tensor begins in bytes, or that it is nowhere") {
  const auto begin_of = [](std::int64_t offset, const char* dtype) {
    RegistrationData data = dense_data({"a"});
    data.caches[0].tensors[0] = contiguous(dtype, {4, 8}, offset, "storage of a");
    return Registration(data).index().places_of(0)[0].begin;
  };
  CHECK(begin_of(100, "float32") == 400);
  CHECK(begin_of(-1, "float32") == -1);
  CHECK(begin_of(INT64_MAX, "float32") == -1);
  CHECK(begin_of(INT64_MAX, "int8") == -1);
  CHECK(begin_of(INT64_MIN, "int8") == -1);
}

TEST_CASE("index: a layer with the same tensors as an earlier one of its group") {
  CHECK(twin_of_second(two_layers(64, 64)) == 0);
  CHECK(twin_of_second(two_layers(64, 128)) == -1);
  RegistrationData data = two_layers(64, 64);
  data.caches[1].tensors[0].stride[0] *= 2;
  CHECK(twin_of_second(data) == -1);
  data = two_layers(64, 64);
  data.caches[1].tensors[0].storage = data.storages[1].name;
  CHECK(twin_of_second(data) == -1);
  data = two_layers(64, 64);
  data.groups.push_back(data.groups[0]);
  data.groups[0].layers = {"a"};
  data.groups[1].layers = {"b"};
  CHECK(twin_of_second(data) == -1);
}

TEST_CASE("index: who shares bytes has the same spec, and who is shared is shown itself") {
  RegistrationData data = two_layers(64, 64);
  data.groups[0].layer_specs = {{"a", data.groups[0].spec}, {"b", data.groups[0].spec}};
  CHECK(twin_of_second(data) == 0);
  data.groups[0].layer_specs.at("b").page_size_bytes *= 2;
  CHECK(twin_of_second(data) == -1);
  data = two_layers(64, 64);
  data.groups[0].layer_specs = {{"a", data.groups[0].spec}, {"b", data.groups[0].spec}};
  data.groups[0].layer_specs.at("a").has_layer_views = false;
  CHECK(twin_of_second(data) == -1);
}

TEST_CASE("index: a placement that puts them apart is believed") {
  RegistrationData data = two_layers(0, 0);
  data.placements.push_back({data.storages[0].name, {"a", "b"}, 0, 4096, 1024});
  CHECK(twin_of_second(data) == -1);
  data.placements[0].layer_stride = 0;
  CHECK(twin_of_second(data) == 0);
  data.placements[0].layers = {"a"};
  data.placements.push_back({data.storages[0].name, {"b"}, 0, 0, 2048});
  CHECK(twin_of_second(data) == -1);
  data.placements[1].block_stride = 1024;
  CHECK(twin_of_second(data) == 0);
  data.placements[1].storage = data.storages[1].name;
  CHECK(twin_of_second(data) == -1);
}

TEST_CASE("index: a layer may be the twin of one that is not the first at its place") {
  RegistrationData data = two_layers(0, 0);
  add_dense_layer(data, 0, "c");
  data.caches[2].tensors[0] = data.caches[1].tensors[0];
  data.caches[0].tensors[0].shape[1] = 2;
  const Registration registration(data);
  CHECK(registration.index().layers[1].twin == -1);
  CHECK(registration.index().layers[2].twin == 1);
}

TEST_CASE("dtype: size and DLPack code by PyTorch's name, and names we do not know") {
  CHECK(find_dtype("bfloat16")->itemsize == 2);
  CHECK(find_dtype("bfloat16")->code == 4);
  CHECK(find_dtype("float8_e4m3fn")->itemsize == 1);
  CHECK(find_dtype("int64")->itemsize == 8);
  CHECK(find_dtype("complex128")->itemsize == 16);
  CHECK_FALSE(find_dtype("torch.float16"));
  CHECK_FALSE(find_dtype(""));
  const DType odd = opaque_dtype("odd24", 3);
  CHECK(odd.name == "odd24");
  CHECK(odd.itemsize == 3);
  CHECK(odd.code == DType::opaque_code);
}
