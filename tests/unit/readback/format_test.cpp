#include "readback/format.hpp"

#include <catch2/catch.hpp>

using namespace kvedit;
using namespace kvedit::readback;

namespace {

using Numbers = std::vector<std::int64_t>;

Dims dense(Numbers shape) {
  Numbers stride(shape.size(), 1);
  for (std::size_t a = shape.size(); a-- > 1;) stride[a - 1] = stride[a] * shape[a];
  return {std::move(shape), std::move(stride), true};
}

Entry one(const Numbers& shape, const char* dtype = "bfloat16") {
  return {{dense(shape)}, {*find_dtype(dtype)}, false};
}

Entry list(const std::vector<Numbers>& shapes, const char* dtype = "bfloat16") {
  Entry entry;
  entry.list = true;
  for (const Numbers& shape : shapes) {
    entry.tensors.push_back(dense(shape));
    entry.dtypes.push_back(*find_dtype(dtype));
  }
  return entry;
}

/// Name, then planes, blocks, slots, heads, width.
void check(const Entry& entry, HeadOrder order, const char* name, const Numbers& numbers) {
  const auto format = detect(entry, order);
  REQUIRE(format);
  CHECK(to_text(*format) == name);
  const Geometry read = geometry(entry, *format, order);
  CHECK(Numbers{read.planes, read.blocks, read.slots, read.heads, read.width} == numbers);
}

constexpr HeadOrder tokens = HeadOrder::tokens_first, heads = HeadOrder::heads_first;

}  // namespace

// Names and numbers are those of LMCache 0.5.6 for the same shapes.

TEST_CASE("readback: rank 4 is K beside V, in the order of the layout") {
  check(one({9, 4, 16, 64}), heads, "NL_X_NB_NH_BS_CS", {1, 9, 16, 4, 64});
  check(one({9, 4, 16, 64}), tokens, "NL_X_NB_BS_NH_CS", {1, 9, 4, 16, 64});
}

TEST_CASE("readback: rank 5 has K and V on the first axis of extent 2") {
  check(one({9, 2, 16, 4, 64}), tokens, "NL_X_NB_TWO_BS_NH_HS", {2, 9, 16, 4, 64});
  check(one({9, 2, 16, 4, 64}), heads, "NL_X_NB_TWO_NH_BS_HS", {2, 9, 4, 16, 64});
  check(one({2, 9, 16, 4, 64}), tokens, "NL_X_TWO_NB_BS_NH_HS", {2, 9, 16, 4, 64});
  check(one({2, 9, 16, 4, 64}), heads, "NL_X_TWO_NB_NH_BS_HS", {2, 9, 4, 16, 64});
  // Two blocks of two halves are taken for two planes of two blocks.
  check(one({2, 2, 16, 4, 64}), tokens, "NL_X_TWO_NB_BS_NH_HS", {2, 2, 16, 4, 64});
  CHECK_FALSE(detect(one({9, 3, 16, 4, 64}), tokens));
}

TEST_CASE("readback: rank 3 is latent, rank 6 has one head too many") {
  check(one({9, 16, 576}), tokens, "NL_X_NB_BS_HS", {1, 9, 16, 1, 576});
  check(one({9, 16, 576}), heads, "NL_X_NB_BS_HS", {1, 9, 16, 1, 576});
  check(one({2, 9, 4, 1, 16, 64}), tokens, "NL_X_TWO_NB_NH_ONE_BS_HS", {2, 9, 16, 4, 64});
  CHECK_FALSE(detect(one({2, 9, 4, 3, 16, 64}), tokens));
  CHECK_FALSE(detect(one({9, 64}), tokens));
  CHECK_FALSE(detect(one({9, 1, 1, 1, 1, 1, 64}), tokens));
}

TEST_CASE("readback: rows of 132 bytes and one head are an indexer's") {
  check(one({9, 16, 132}, "uint8"), tokens, "NL_X_NB_BSV_BSS", {1, 9, 16, 1, 132});
  check(one({9, 1, 16, 132}, "uint8"), heads, "NL_X_NB_BSV_BSS", {1, 9, 16, 1, 132});
  check(one({9, 16, 1, 132}, "uint8"), tokens, "NL_X_NB_BSV_BSS", {1, 9, 16, 1, 132});
  check(one({9, 16, 132}, "int8"), tokens, "NL_X_NB_BS_HS", {1, 9, 16, 1, 132});
  check(one({9, 1, 16, 132}, "uint8"), tokens, "NL_X_NB_BS_NH_CS", {1, 9, 1, 16, 132});
  check(one({9, 4, 16, 132}, "uint8"), heads, "NL_X_NB_NH_BS_CS", {1, 9, 16, 4, 132});
}

TEST_CASE("readback: lists are K and V, or planes of one latent head") {
  check(list({{9, 16, 4, 64}, {9, 16, 4, 64}}), heads, "NL_X_TWO_X_NB_BS_NH_HS", {2, 9, 16, 4, 64});
  check(list({{9, 16, 1, 512}, {9, 16, 1, 64}}), heads, "NL_X_NP_X_NB_BS_ONE_HS",
        {1, 9, 16, 1, 576});
  check(list({{9, 16, 1, 512}}), tokens, "NL_X_NP_X_NB_BS_ONE_HS", {1, 9, 16, 1, 512});
  CHECK_FALSE(detect(list({{9, 3, 64}, {9, 16, 64}}), tokens));
  CHECK_FALSE(detect(list({{9, 16, 4, 64}, {9, 16, 4, 64}, {9, 16, 4, 64}}), tokens));
}

TEST_CASE("readback: formats with blocks outermost and one plane keep gaps") {
  for (const Format format : {Format::packed_heads_first, Format::packed_tokens_first,
                              Format::latent, Format::blocked_indexer, Format::latent_tuple})
    CHECK(keeps_stride(format));
  for (const Format format :
       {Format::planes_heads_first, Format::planes_tokens_first, Format::halves_heads_first,
        Format::halves_tokens_first, Format::planes_heads_first_one, Format::key_value_tuple})
    CHECK_FALSE(keeps_stride(format));
  Entry entry = one({9, 16, 576});
  entry.tensors[0].stride[0] = 10000;
  CHECK(outer_step(entry).stride == 10000);
  CHECK(outer_step(entry).tight == 9216);
}
