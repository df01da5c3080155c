// Numbers that mean nothing, one at a time, through the whole way: each refused for its reason.

#include <kvedit/host.hpp>

#include <cstdint>
#include <functional>

#include <catch2/catch.hpp>

#include <kvedit/json.hpp>

#include "layers.hpp"

using namespace kvedit;
using namespace kvedit::testing;

namespace {

constexpr std::int64_t most = INT64_MAX, largest = std::int64_t{1} << 61;

/// Four blocks of 16 tokens, two heads, eight elements of two bytes: right as it stands.
RegistrationData right_data() {
  RegistrationData data;
  data.num_blocks = 4;
  Group group;
  group.layers = {"attn"};
  group.spec = spec("FullAttentionSpec", 16, 512);
  data.groups = {group};
  data.storages = {{"s0", 2048, "cpu"}};
  data.caches = {{"attn", {contiguous("bfloat16", {4, 2, 16, 8})}, false}};
  return data;
}

Result edit(const RegistrationData& data) {
  HostOptions options;
  options.standard_rules_dir = KVEDIT_RULES_DIR;
  const auto host = Host::open(options);
  REQUIRE(host);
  return host->edit(Registration(data));
}

/// Message of the only error; it has that code.
std::string refused(Code code, const std::function<void(RegistrationData&)>& change) {
  RegistrationData data = right_data();
  change(data);
  const Result result = edit(data);
  REQUIRE_FALSE(result.ok());
  REQUIRE(result.problems().size() == 1);
  CHECK(to_text(result.problems()[0].code) == to_text(code));
  return result.problems()[0].message;
}

std::string refused_tensor(const std::function<void(Tensor&)>& change) {
  return refused(Code::bad_geometry, [&](RegistrationData& data) {
    data.storages[0].nbytes = largest;
    change(data.caches[0].tensors[0]);
  });
}

bool has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

}  // namespace

TEST_CASE("hostile numbers: what they are done to is right") { CHECK(edit(right_data()).ok()); }

TEST_CASE("hostile numbers: extents and strides that are not positive") {
  for (std::size_t axis = 0; axis < 4; ++axis)
    for (const std::int64_t value : {std::int64_t{0}, std::int64_t{-1}, INT64_MIN}) {
      const std::string where = "axis " + std::to_string(axis) + " has ";
      CHECK(has(refused_tensor([&](Tensor& t) { t.shape[axis] = value; }),
                where + "extent " + std::to_string(value)));
      CHECK(has(refused_tensor([&](Tensor& t) { t.stride[axis] = value; }),
                where + "stride " + std::to_string(value)));
    }
  CHECK(has(refused_tensor([](Tensor& t) {
              t.shape.insert(t.shape.begin() + 1, 0), t.stride.insert(t.stride.begin() + 1, 1);
            }),
            "axis 1 has extent 0"));
}

TEST_CASE("hostile numbers: products and sums at 2^63") {
  const std::int64_t half = std::int64_t{1} << 62;
  for (std::size_t axis = 0; axis < 4; ++axis)
    for (const std::int64_t value : {most, most - 1, half, half + 1, half / 4}) {
      refused_tensor([&](Tensor& t) { t.stride[axis] = value; });
      refused_tensor([&](Tensor& t) { t.shape[axis] = value; });
    }
  // Each product fits, their sum does not.
  refused_tensor([&](Tensor& t) { t.stride = {half / 8, half / 4, half / 32, half / 16}; });
  refused_tensor([](Tensor& t) { t.storage_offset = most; });
  refused_tensor([](Tensor& t) { t.storage_offset = most / 2; });
  refused_tensor([](Tensor& t) { t.storage_offset = INT64_MIN; });
  refused_tensor([](Tensor& t) { t.shape = {3037000500, 3037000500}, t.stride = {3037000500, 1}; });
}

TEST_CASE("hostile numbers: offsets beyond what is planned") {
  const auto at = [](std::int64_t byte) {
    RegistrationData data = right_data();
    data.storages[0].nbytes = largest;
    data.caches[0].tensors[0].storage_offset = byte / 2;
    return edit(data);
  };
  const Result far = at(std::int64_t{1} << 60);
  REQUIRE(far.ok());
  CHECK(far.layer(0).pages()->parts[0].base == std::int64_t{1} << 60);
  // Nothing beyond 2^61 bytes is planned.
  for (const std::int64_t byte : {most - 2047, most - 2045, std::int64_t{1} << 62}) {
    const Result beyond = at(byte);
    REQUIRE_FALSE(beyond.ok());
    CHECK(beyond.problems()[0].code == Code::bad_geometry);
  }
}

TEST_CASE("hostile numbers: a storage of no possible size, and a stride that is never stepped") {
  for (const std::int64_t nbytes : {std::int64_t{-1}, INT64_MIN, largest + 1, 2 * largest, most}) {
    const std::string said = refused(
        Code::bad_geometry, [&](RegistrationData& data) { data.storages[0].nbytes = nbytes; });
    CHECK(has(said, "layer attn of group 0: tensor 0 lies in storage s0, which has nbytes " +
                        std::to_string(nbytes)));
    CHECK(has(said, nbytes < 0 ? "fewer than 0" : "more than 2^61"));
    CHECK(has(said, "give the size of the whole allocation"));
  }
  RegistrationData data = right_data();
  data.storages[0].nbytes = largest;
  CHECK(edit(data).ok());
  data.storages.push_back({"of nobody", most, "cpu"});  // what is not moved is not judged
  CHECK(edit(data).ok());
  const auto lone_axis = [](std::int64_t stride) {
    return [stride](Tensor& t) {
      t.shape.insert(t.shape.begin(), 1), t.stride.insert(t.stride.begin(), stride);
    };
  };
  RegistrationData lone = right_data();
  lone_axis(largest / 2)(lone.caches[0].tensors[0]);  // elements of 2 bytes
  CHECK(edit(lone).ok());
  for (const std::int64_t stride : {largest / 2 + 1, largest, 2 * largest, most})
    CHECK(has(refused_tensor(lone_axis(stride)), "beyond 2^61 bytes"));
}

TEST_CASE("hostile numbers: ranks") {
  CHECK(has(refused_tensor([](Tensor& t) { t.shape.clear(), t.stride.clear(); }), "0 axes"));
  CHECK(has(refused_tensor([](Tensor& t) { t.shape.assign(12, 1), t.stride.assign(12, 1); }),
            "12 axes"));
  refused_tensor([](Tensor& t) { t.stride.pop_back(); });
  refused_tensor([](Tensor& t) { t.shape.pop_back(); });

  RegistrationData data = right_data();
  data.caches[0].tensors[0] = contiguous("bfloat16", {4, 2, 1, 2, 2, 2, 2, 2, 4});
  const Result nine = edit(data);
  REQUIRE(nine.ok());
  CHECK(nine.layer(0).pages()->block_bytes == 512);
  CHECK(nine.layer(0).pages()->parts[0].block_stride == 512);
}

TEST_CASE("hostile numbers: blocks, pages, tokens") {
  const auto page = [](std::int64_t value) {
    return
        [=](RegistrationData& data) { data.groups[0].spec = spec("FullAttentionSpec", 16, value); };
  };
  const auto block = [](std::int64_t value) {
    return [=](RegistrationData& data) {
      data.groups[0].spec = spec("FullAttentionSpec", value, 512);
    };
  };
  for (const std::int64_t value : {std::int64_t{0}, std::int64_t{-512}, INT64_MIN}) {
    CHECK(has(refused(Code::bad_geometry, page(value)), std::to_string(value)));
    CHECK(has(refused(Code::bad_geometry, block(value)), std::to_string(value)));
  }
  refused(Code::not_tiled, page(most));
  refused(Code::block_count, [](RegistrationData& data) { data.num_blocks = most; });
  refused(Code::bad_geometry, [](RegistrationData& data) { data.num_blocks = INT64_MIN; });
}

TEST_CASE("hostile numbers: tokens of a block that leave 63 bits") {
  const std::string message = refused(Code::bad_geometry, [](RegistrationData& data) {
    data.groups[0].spec = spec("FullAttentionSpec", std::int64_t{1} << 62, 512);
    data.parallel.dcp = 4;
  });
  CHECK(has(message, "4611686018427387904"));
  CHECK(has(message, "dcp"));
}

TEST_CASE("hostile numbers: ranks in parallel") {
  constexpr std::int64_t Parallel::*counts[] = {&Parallel::tp, &Parallel::pp, &Parallel::dcp,
                                                &Parallel::pcp, &Parallel::cp_interleave};
  for (const auto count : counts)
    for (const std::int64_t value : {std::int64_t{0}, std::int64_t{-7}, INT64_MIN}) {
      const std::string message = refused(
          Code::bad_geometry, [&](RegistrationData& data) { data.parallel.*count = value; });
      CHECK(has(message, std::to_string(value)));
    }
}

TEST_CASE("hostile numbers: placements") {
  const auto placed = [](std::int64_t offset, std::int64_t layers, std::int64_t blocks) {
    return [=](RegistrationData& data) {
      data.placements = {{"s0", {"nobody", "attn"}, offset, layers, blocks}};
    };
  };
  RegistrationData right = right_data();
  placed(0, 0, 512)(right);
  CHECK(edit(right).ok());
  for (const std::int64_t value : {most, INT64_MIN, std::int64_t{-1}}) {
    refused(Code::placement_mismatch, placed(value, 0, 512));
    refused(Code::placement_mismatch, placed(0, value, 512));
  }
  refused(Code::placement_mismatch, placed(most, most, 512));
  refused(Code::placement_mismatch, placed(0, 0, 0));
  refused(Code::placement_mismatch, placed(0, 0, -512));
}

TEST_CASE("hostile numbers: dtypes of half a byte have no size of their own") {
  const auto text = [](const std::string& dtype) {
    return R"({"schema": "kvedit.registration/1", "num_blocks": 4,
 "groups": [{"layers": ["attn"], "spec": {"type": "FullAttentionSpec", "bases": [],
   "block_size": 16, "page_size_bytes": 128}}],
 "storages": {"s0": {"nbytes": 512}},
 "caches": {"attn": {)" +
           dtype + R"(, "shape": [4, 2, 16, 4], "stride": [128, 64, 4, 1],
   "storage_offset": 0, "storage": "s0"}}})";
  };
  const auto refusal = [&](const std::string& dtype) {
    const auto read = read_registration(text(dtype));
    REQUIRE_FALSE(read);
    return read.error().text();
  };
  // Two elements of four bits in each byte: the engine registers bytes.
  for (const char* bytes : {R"("dtype": "uint8")", R"("dtype": "float4_e2m1fn_x2")",
                            R"("dtype": "int4", "itemsize": 1)"}) {
    const auto read = read_registration(text(bytes));
    REQUIRE(read);
    const Result result = edit(read->data());
    REQUIRE(result.ok());
    CHECK(result.layer(0).pages()->block_bytes == 128);
  }
  for (const char* half : {R"("dtype": "int4")", R"("dtype": "float4_e2m1fn")"})
    CHECK(has(refusal(half), "itemsize"));
  CHECK(has(refusal(R"("dtype": "int4", "itemsize": 0)"), "1 to 256"));
  CHECK(has(refusal(R"("dtype": "int4", "itemsize": 0.5)"), "/caches/attn/itemsize"));
  CHECK(has(refusal(R"("dtype": "int4", "itemsize": "1/2")"), "/caches/attn/itemsize"));
  CHECK(has(refusal(R"("dtype": "float4_e2m1fn_x2", "itemsize": 2)"), "2 bytes"));
}
