#include "audit/views.hpp"

#include <catch2/catch.hpp>

#include "layers.hpp"
#include "prove/prove.hpp"

using namespace kvedit;
using namespace kvedit::testing;

namespace {

ViewShape view(const char* dtype, Numbers shape, Numbers stride, std::int64_t offset = 0,
               std::uint32_t block_axis = 0, std::uint32_t tensor = 0) {
  ViewShape made;
  made.dtype = *find_dtype(dtype);
  made.axes.assign(shape.size(), Role::opaque);
  made.axes[block_axis] = Role::block;
  made.shape = std::move(shape);
  made.stride = std::move(stride);
  made.tensor = tensor;
  made.offset = offset;
  made.block_axis = block_axis;
  return made;
}

std::string judged(const Layer& layer, std::vector<ViewShape> views) {
  LayerClass of;
  of.facts = layer.facts();
  auto proof = prove::prove(of.facts, nullptr);
  if (const auto* failure = std::get_if<Failure>(&proof)) FAIL(failure->message);
  of.page = std::get<ProvedPage>(proof);
  of.views = std::move(views);
  const auto failure = audit::wrong_view(of);
  if (failure) CHECK_FALSE(failure->message.empty());
  return failure ? std::string(to_text(failure->code)) : "right";
}

/// Pages of 1,024 bytes, one behind the other.
Layer dense() { return {spec("FullAttentionSpec", 16, 1024), {contiguous("int8", {4, 1024})}, 4}; }

/// 1,000 of 1,024 bytes are payload.
Layer padded() { return {padded_attention(1024, 1000), {tensor("int8", {4, 1000}, {1024, 1})}, 4}; }

Layer planes() {
  return {spec("FullAttentionSpec", 16, 1024), {contiguous("bfloat16", {2, 4, 16, 2, 8})}, 4};
}

}  // namespace

TEST_CASE("audit: right views in any shape and dtype") {
  CHECK(judged(dense(), {view("int8", {4, 1024}, {1024, 1})}) == "right");
  CHECK(judged(dense(), {view("float32", {4, 2, 128}, {256, 128, 1})}) == "right");
  CHECK(judged(dense(), {view("int8", {1024, 4}, {1, 1024}, 0, 1)}) == "right");
  CHECK(judged(dense(), {view("int8", {4, 512}, {1024, 1}),
                         view("int8", {4, 512}, {1024, 1}, 512)}) == "right");
  CHECK(judged(padded(), {view("int8", {4, 1000}, {1024, 1})}) == "right");
  CHECK(judged(padded(), {view("int8", {4, 1024}, {1024, 1})}) == "right");
  CHECK(judged(planes(), {view("bfloat16", {2, 4, 256}, {1024, 256, 1}, 0, 1)}) == "right");
}

TEST_CASE("audit: a view over a neighbour's byte") {
  CHECK(judged(dense(), {view("int8", {4, 1025}, {1024, 1})}) == "outside-page");
  CHECK(judged(dense(), {view("int8", {4, 1024}, {1024, 1}, 1)}) == "outside-page");
  CHECK(judged(dense(), {view("int8", {4, 1024}, {1024, 1}, -1)}) == "outside-page");
  CHECK(judged(padded(), {view("int8", {4, 1025}, {1024, 1})}) == "outside-page");
  CHECK(judged(planes(), {view("bfloat16", {4, 512}, {256, 1})}) == "outside-page");
}

TEST_CASE("audit: a view that moves otherwise than its blocks") {
  for (const std::int64_t stride : {0, 512, 1023, 2048, -1024})
    CHECK(judged(dense(), {view("int8", {4, 1024}, {stride, 1})}) != "right");
}

TEST_CASE("audit: a lost byte") {
  CHECK(judged(dense(), {view("int8", {4, 1023}, {1024, 1})}) == "incomplete");
  CHECK(judged(dense(), {view("int8", {4, 1023}, {1024, 1}, 1)}) == "incomplete");
  CHECK(judged(dense(), {view("int8", {4, 511}, {1024, 1}),
                         view("int8", {4, 512}, {1024, 1}, 512)}) == "incomplete");
  CHECK(judged(padded(), {view("int8", {4, 999}, {1024, 1})}) == "incomplete");
  CHECK(judged(planes(), {view("bfloat16", {4, 256}, {256, 1})}) == "incomplete");
  CHECK(judged(dense(), {}) == "incomplete");
}

TEST_CASE("audit: entries for another number of blocks") {
  for (const std::int64_t blocks : {1, 3, 5, 8})
    CHECK(judged(dense(), {view("int8", {blocks, 1024}, {1024, 1})}) != "right");
}

TEST_CASE("audit: a byte shown twice") {
  CHECK(judged(dense(), {view("int8", {4, 2, 1024}, {1024, 0, 1})}) == "overlap");
  CHECK(judged(dense(), {view("int8", {4, 2, 513}, {1024, 511, 1})}) == "overlap");
  CHECK(judged(dense(), {view("int8", {4, 513}, {1024, 1}),
                         view("int8", {4, 512}, {1024, 1}, 512)}) == "overlap");
}

TEST_CASE("audit: views of several tensors count from their own first elements") {
  const Layer pair{spec("FullAttentionSpec", 16, 1024),
                   {contiguous("int8", {4, 512}, 0, "a"), contiguous("int8", {4, 512}, 64, "b")},
                   4};
  const auto of = [](std::uint32_t tensor, std::int64_t offset = 0) {
    return view("int8", {4, 512}, {512, 1}, offset, 0, tensor);
  };
  CHECK(judged(pair, {of(0), of(1)}) == "right");
  CHECK(judged(pair, {of(0)}) == "incomplete");
  CHECK(judged(pair, {of(0), of(0)}) == "overlap");
  CHECK(judged(pair, {of(0), of(1, 64)}) == "outside-page");
}
