#include <kvedit/spec.hpp>

#include <limits>

#include <catch2/catch.hpp>

#include "layers.hpp"

using namespace kvedit;
using kvedit::testing::field;

namespace {

using Fields = std::vector<Attribute>;

Value numbers(std::initializer_list<std::int64_t> items) {
  std::vector<Value> values;
  for (const std::int64_t each : items) values.push_back(Value::of(each));
  return Value::of(std::move(values));
}

Expected<Spec> made(Fields more, std::string type = "FullAttentionSpec",
                    std::vector<std::string> bases = {}) {
  more.push_back(field("block_size", 16));
  more.push_back(field("page_size_bytes", 4096));
  return make_spec(std::move(type), std::move(bases), std::move(more));
}

Spec right(Fields more, std::string type = "FullAttentionSpec",
           std::vector<std::string> bases = {}) {
  auto spec = made(std::move(more), std::move(type), std::move(bases));
  if (!spec) FAIL(spec.error().text());
  return *spec;
}

std::string wrong_field(Attribute more, std::string type = "FullAttentionSpec") {
  const auto spec = made({std::move(more)}, std::move(type));
  REQUIRE_FALSE(spec);
  CHECK_FALSE(spec.error().message.empty());
  return spec.error().where;
}

std::optional<std::int64_t> state_bytes(Value shapes, Value dtypes,
                                        std::string type = "MambaSpec") {
  return right({{"shapes", std::move(shapes)}, {"dtypes", std::move(dtypes)}}, std::move(type))
      .state_bytes;
}

Value names(std::initializer_list<const char*> items) {
  std::vector<Value> values;
  for (const char* each : items) values.push_back(Value::of(each));
  return Value::of(std::move(values));
}

}  // namespace

TEST_CASE("spec: every field the host reads, and its default") {
  const Spec plain = right({});
  CHECK(plain.block_size == 16);
  CHECK(plain.page_size_bytes == 4096);
  CHECK(plain.mamba_cache_mode == "none");
  CHECK(plain.prefix_cacheable);
  CHECK(plain.has_layer_views);
  CHECK_FALSE(plain.dcp_sharded);
  CHECK_FALSE(plain.page_size_padded);
  CHECK_FALSE(plain.unpadded_page_size_bytes);
  CHECK_FALSE(plain.heads);
  CHECK_FALSE(plain.tokens_per_state);
  CHECK_FALSE(plain.state_bytes);

  const Spec full = right({field("page_size_padded", 4096),
                           field("unpadded_page_size_bytes", 4000),
                           field("head_size", 128),
                           field("head_size_v", 64),
                           field("num_states", 4),
                           field("mamba_cache_mode", "all"),
                           {"prefix_cacheable", Value::of(false)},
                           {"has_layer_views", Value::of(false)},
                           {"dcp_sharded", Value::of(false)}});
  CHECK(full.page_size_padded == 4096);
  CHECK(full.unpadded_page_size_bytes == 4000);
  CHECK(full.head_size == 128);
  CHECK(full.head_size_v == 64);
  CHECK(full.num_states == 4);
  CHECK(full.mamba_cache_mode == "all");
  CHECK_FALSE(full.prefix_cacheable);
  CHECK_FALSE(full.has_layer_views);
  CHECK(full.dcp_sharded == false);
}

TEST_CASE("spec: heads are head slots, else heads, else KV heads") {
  CHECK(right({field("num_kv_heads", 2)}).heads == 2);
  CHECK(right({field("num_heads", 3), field("num_kv_heads", 2)}).heads == 3);
  CHECK(
      right({field("num_head_slots", 4), field("num_heads", 3), field("num_kv_heads", 2)}).heads ==
      4);
}

TEST_CASE("spec: kind as given, else the first known name of type, then bases") {
  CHECK(right({field("kind", "sliding_window")}).kind == Kind::sliding_window);
  CHECK(right({field("kind", "unknown")}).kind == Kind::unknown);
  CHECK(right({}, "MLAAttentionSpec", {"FullAttentionSpec"}).kind == Kind::mla_attention);
  CHECK(right({}, "SlidingWindowMLASpec").kind == Kind::sliding_window_mla);
  CHECK(right({}, "SinkFullAttentionSpec").kind == Kind::sink_full_attention);
  CHECK(right({}, "ChunkedLocalAttentionSpec").kind == Kind::chunked_local_attention);
  CHECK(right({}, "SlidingWindowSpec").kind == Kind::sliding_window);
  CHECK(right({}, "EncoderOnlyAttentionSpec").kind == Kind::encoder_only_attention);
  CHECK(right({}, "CrossAttentionSpec").kind == Kind::cross_attention);
  CHECK(right({}, "Vendor", {"Odd", "MambaSpec", "FullAttentionSpec"}).kind == Kind::mamba);
  CHECK(right({}, "Vendor", {"AttentionSpec", "KVCacheSpec"}).kind == Kind::unknown);
  CHECK(wrong_field(field("kind", "attention")) == "kind");
}

TEST_CASE("spec: tokens per state, whole or a ratio, else the compression ratio") {
  CHECK(right({field("tokens_per_state", 4)}).tokens_per_state == Ratio{4, 1});
  CHECK(right({field("tokens_per_state", "1/4")}).tokens_per_state == Ratio{1, 4});
  CHECK(right({field("tokens_per_state", -1)}).tokens_per_state == Ratio{-1, 1});
  CHECK(right({field("compress_ratio", 8)}).tokens_per_state == Ratio{8, 1});
  CHECK(right({field("compress_ratio", 8), field("tokens_per_state", 2)}).tokens_per_state ==
        Ratio{2, 1});
  for (const char* odd : {"1/0", "1/-4", "a", "", "1/", "1/4x", "99999999999999999999/1"})
    CHECK(wrong_field(field("tokens_per_state", odd)) == "tokens_per_state");
  CHECK(wrong_field({"tokens_per_state", Value::of(0.25)}) == "tokens_per_state");
}

TEST_CASE("spec: a field of the wrong type is named") {
  for (const char* name :
       {"page_size_padded", "unpadded_page_size_bytes", "num_kv_heads", "num_heads",
        "num_head_slots", "head_size", "head_size_v", "num_states", "compress_ratio",
        "state_content_size_bytes", "state_content_bytes", "storage_block_size", "tq_slot_size",
        "sliding_window", "attention_chunk_size", "alignment", "num_speculative_blocks"}) {
    INFO(name);
    CHECK(wrong_field({name, Value::of("1")}) == name);
    CHECK(wrong_field({name, Value::of(1.0)}) == name);
    CHECK(wrong_field({name, Value::of(true)}) == name);
  }
  for (const char* name : {"prefix_cacheable", "has_layer_views", "dcp_sharded"})
    CHECK(wrong_field(field(name, 1)) == name);
  for (const char* name : {"kind", "dtype", "mamba_cache_mode", "mamba_type", "cache_dtype_str"})
    CHECK(wrong_field(field(name, 1)) == name);
}

TEST_CASE("spec: a field given twice is named") {
  const auto twice = make_spec("MambaSpec", {},
                               {{"block_size", Value::of(std::int64_t{4})},
                                {"page_size_bytes", Value::of(std::int64_t{64})},
                                {"new_field", Value::of("a")},
                                {"mamba_cache_mode", Value::of("align")},
                                {"new_field", Value::of("a")}});
  REQUIRE_FALSE(twice);
  CHECK(twice.error().where == "new_field");
  CHECK(twice.error().message == "given twice; a spec gives each field once");
}

TEST_CASE("spec: null is a field that is not there, unknown fields are kept as they are") {
  const Value odd = Value::json("{\"a\": [1]}");
  const Spec spec = right({{"head_size", Value{}}, {"vendor_field", odd}, {"kind", Value{}}});
  CHECK_FALSE(spec.head_size);
  CHECK(spec.kind == Kind::full_attention);
  REQUIRE(spec.attribute("vendor_field"));
  CHECK(*spec.attribute("vendor_field") == odd);
  CHECK(spec.attribute("head_size"));
  CHECK_FALSE(spec.attribute("never"));
}

TEST_CASE("spec: required fields") {
  const auto no_page = make_spec("FullAttentionSpec", {}, {field("block_size", 16)});
  REQUIRE_FALSE(no_page);
  CHECK(no_page.error().where == "page_size_bytes");
  const auto no_block = make_spec("FullAttentionSpec", {}, {field("page_size_bytes", 16)});
  REQUIRE_FALSE(no_block);
  CHECK(no_block.error().where == "block_size");
  const auto no_type = made({}, "");
  REQUIRE_FALSE(no_type);
  CHECK(no_type.error().where == "type");
  CHECK(right({field("type", "MambaSpec"), {"bases", names({"KVCacheSpec"})}}, "").kind ==
        Kind::mamba);
}

TEST_CASE("spec: state bytes are the sum over shapes and dtypes") {
  CHECK(state_bytes(Value::of(std::vector{numbers({3, 6144}), numbers({16, 128, 128})}),
                    names({"bfloat16", "float32"})) == 3 * 6144 * 2 + 16 * 128 * 128 * 4);
  CHECK_FALSE(
      state_bytes(Value::of(std::vector{numbers({3})}), names({"float32"}), "FullAttentionSpec"));
}

TEST_CASE("spec: states that contradict themselves are marked, not guessed") {
  const auto one = [](Value shape) { return Value::of(std::vector{std::move(shape)}); };
  CHECK(state_bytes(one(numbers({3})), names({"float32", "float32"})).value() < 0);
  CHECK(state_bytes(one(numbers({0, 3})), names({"float32"})).value() < 0);
  CHECK(state_bytes(one(numbers({-3, -3})), names({"float32"})).value() < 0);
  CHECK(right({{"shapes", one(numbers({3}))}}, "MambaSpec").state_bytes.value() < 0);
  CHECK(wrong_field({"shapes", numbers({3})}, "MambaSpec") == "shapes");
  CHECK(wrong_field({"shapes", one(names({"a"}))}, "MambaSpec") == "shapes");
  CHECK(wrong_field({"dtypes", names({"float33"})}, "MambaSpec") == "dtypes");
}

TEST_CASE("spec: state bytes beyond 63 bits stay above every page") {
  constexpr std::int64_t most = std::numeric_limits<std::int64_t>::max();
  const auto bytes =
      state_bytes(Value::of(std::vector{numbers({most, most, most}), numbers({most})}),
                  names({"float64", "float64"}));
  CHECK(bytes == most);
}

TEST_CASE("specs are equal when their fields are, shared or not") {
  const Fields fields = {field("num_kv_heads", 2), field("head_size", 64)};
  const Spec spec = right(fields);
  const Spec copy = spec;
  CHECK(copy == spec);
  CHECK(copy.attributes.begin() == spec.attributes.begin());
  CHECK(right(fields) == spec);
  CHECK_FALSE(right({field("num_kv_heads", 2), field("head_size", 64), field("new", 1)}) == spec);
  CHECK_FALSE(right({field("head_size", 64), field("num_kv_heads", 2)}) == spec);
  CHECK(Attributes() == Attributes(Fields()));
  CHECK_FALSE(Attributes() == spec.attributes);
  const Spec kept = [] { return Spec(right({field("head_size", 8)})); }();
  CHECK(kept.attribute("head_size")->integer == 8);
}
