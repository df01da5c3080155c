#include <catch2/catch.hpp>

#include <thread>

#include <kvedit/diff.hpp>

#include "fingerprint/layout_fields.hpp"
#include "fingerprint/sha256.hpp"
#include "layers.hpp"
#include "pipeline.hpp"

using namespace kvedit;
using namespace kvedit::testing;

namespace {

/// A rule whose version can be chosen.
class Versioned : public Rule {
 public:
  Versioned(std::string id, std::string version, bool declared) : declared_(declared) {
    info_.id = std::move(id);
    info_.version = std::move(version);
  }

  const RuleInfo& info() const override { return info_; }

  /// Two kernel pages of 8 tokens, one head: as they follow each other, or declared.
  Answer answer(const LayerFacts& layer) const override {
    const std::int64_t item = layer.tensors[0].dtype.itemsize;
    Box box{0, 0, item, {}};
    for (const Axis& axis : {Axis{8, 512, Role::block}, Axis{1, 512, Role::head},
                             Axis{8, 64, Role::token}, Axis{32, item, Role::content}})
      box.axes.push_back(axis);
    if (declared_) {  // page n and page n + 4 are one block
      box.axes[0] = {4, 512, Role::block};
      box.axes.insert(1, {2, 2048, Role::kernel_page});
    }
    return {Verdict::match, "", {{box}, declared_}, {}};
  }

 private:
  RuleInfo info_;
  bool declared_;
};

RuleBook book_of(const char* id, const char* version, bool declared) {
  RuleBook book;
  book.rules.push_back(std::make_shared<Versioned>(id, version, declared));
  book.infos.push_back(book.rules.back()->info());
  return book;
}

Result edited(const RegistrationData& data, RuleBook book = {}) {
  return Result(
      run_pipeline(Registration(data), {}, std::make_shared<const RuleBook>(std::move(book))));
}

RegistrationData kernel_paged() {
  RegistrationData data = dense_data({"attn"});
  data.caches[0].tensors[0] = contiguous("bfloat16", {8, 1, 8, 32}, 0, data.storages[0].name);
  return data;
}

std::string print_of(const Result& result) {
  REQUIRE(result.ok());
  REQUIRE(result.fingerprint());
  return *result.fingerprint();
}

std::string ruled(const char* id, const char* version, bool declared) {
  return print_of(edited(kernel_paged(), book_of(id, version, declared)));
}

std::string order_of(const Result& result) {
  REQUIRE(result.ok());
  const auto layout = fingerprint::read_layout(*result.group_layout_text(0));
  const std::string* order = fingerprint::value_of(layout.layers.at(0).fields, "order");
  return order ? *order : std::string();
}

}  // namespace

TEST_CASE("SHA-256 of what its standard gives as examples") {
  // FIPS 180-2, appendix B.
  CHECK(fingerprint::sha256("abc") ==
        "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  CHECK(fingerprint::sha256("") ==
        "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
}

TEST_CASE("fingerprint: a declared order is that of its rule and version") {
  CHECK(ruled("test.a", "1", true) == ruled("test.a", "1", true));
  CHECK(ruled("test.a", "1", true) != ruled("test.a", "2", true));
  CHECK(ruled("test.a", "1", true) != ruled("test.b", "1", true));
  CHECK(ruled("test.a", "1", true) != ruled("test.a", "1", false));
}

TEST_CASE("fingerprint: rule and version stay out where the order is proved") {
  CHECK(ruled("test.a", "1", false) == ruled("test.a", "2", false));
  CHECK(ruled("test.a", "1", false) == ruled("test.b", "1", false));
  CHECK(ruled("test.a", "1", false) == print_of(edited(dense_data({"attn"}))));
}

TEST_CASE("fingerprint: threads that ask at once get one answer") {
  const Result result = edited(dense_data({"a", "b", "c"}));
  const std::string expected = print_of(result);
  std::vector<std::string> found(8);
  std::vector<std::thread> threads;
  for (std::string& each : found)
    threads.emplace_back([&result, &each] { each = result.fingerprint().value_or("none"); });
  for (std::thread& thread : threads) thread.join();
  for (const std::string& each : found) CHECK(each == expected);
}

TEST_CASE("fingerprint: none without a result that is ok, nor of a group that is not there") {
  RegistrationData data = dense_data({"a"});
  const Result good = edited(data);
  CHECK(good.group_fingerprint(0));
  CHECK_FALSE(good.group_fingerprint(1));
  CHECK_FALSE(good.group_layout_text(SIZE_MAX));
  data.num_blocks = 5;
  const Result bad = edited(data);
  REQUIRE_FALSE(bad.ok());
  CHECK_FALSE(bad.fingerprint());
  CHECK_FALSE(bad.group_fingerprint(0));
  CHECK_FALSE(bad.layout_text());
  RegistrationData empty;
  empty.num_blocks = 1;
  CHECK_FALSE(edited(empty).fingerprint());
}

TEST_CASE("fingerprint: a name cannot pass for another layer or field") {
  const Result two = edited(dense_data({"a", "b"}));
  const std::string facts = two.group_layout_text(0)->substr(
      two.group_layout_text(0)->find("kind"),
      two.group_layout_text(0)->rfind("layer") - two.group_layout_text(0)->find("kind"));
  const Result one = edited(dense_data({"a\"\n" + facts + "layer \"b"}));
  CHECK(one.group_layout_text(0)->find("layer \"a\\\"\\u000akind") != std::string::npos);
  CHECK(print_of(one) != print_of(two));
  CHECK(print_of(edited(dense_data({"a\\n"}))) != print_of(edited(dense_data({"a\n"}))));
}

TEST_CASE("fingerprint: bytes that follow no axes are told one by one") {
  // Tokens of K are 64 bytes apart, those of V 32 from byte 16 on; the padded page holds all of
  // them, and they take turns irregularly.
  RegistrationData data;
  data.num_blocks = 4;
  data.storages.push_back({"s0", 1 << 16, "cpu"});
  data.groups.push_back({});
  data.groups[0].layers.push_back("attn");
  data.groups[0].spec =
      spec("FullAttentionSpec", 3, 256,
           {field("num_kv_heads", 1), field("head_size", 8), field("page_size_padded", 256),
            field("unpadded_page_size_bytes", 96)});
  data.caches.push_back({"attn",
                         {tensor("bfloat16", {4, 3, 1, 8}, {128, 32, 8, 1}),
                          tensor("bfloat16", {4, 3, 1, 8}, {128, 16, 8, 1}, 8)},
                         true});
  const Result result = edited(data);
  CHECK(order_of(result).empty());
  const std::string layout = *result.group_layout_text(0);
  CHECK(layout.find("scattered 0 0 2 token:3:64") != std::string::npos);
  CHECK(layout.find("scattered 1 0 2 token:3:32") != std::string::npos);
  data.caches[0].tensors[1].storage_offset = 16;  // as regular as can be: K, V, K, V
  data.caches[0].tensors[1].stride[1] = 32;
  CHECK(order_of(edited(data)) == "0 token:3:32 kv:2:16 content:16:1");
}

TEST_CASE("fingerprint: pages of very many runs take no time") {
  // K and V of each token two runs of one byte: 65,536 in all.
  RegistrationData data;
  data.num_blocks = 3;
  data.storages.push_back({"s0", 1 << 20, "cpu"});
  data.groups.push_back({});
  data.groups[0].layers.push_back("attn");
  data.groups[0].spec =
      spec("FullAttentionSpec", 32768, 65536, {field("num_kv_heads", 1), field("head_size", 1)});
  data.caches.push_back(
      {"attn", {tensor("int8", {3, 2, 32768, 1, 1}, {262144, 4, 8, 8, 1})}, false});
  const Result result = edited(data);
  for (int i = 0; i < 20; ++i) CHECK(order_of(result) == "0 token:32768:2 kv:2:1 content:1:1");
}

TEST_CASE("fingerprint: unnamed axes stay as registered, whatever lies densely") {
  const auto shaped = [](Numbers shape) {
    RegistrationData data;
    data.num_blocks = 4;
    data.storages.push_back({"s0", 4096, "cpu"});
    data.groups.push_back({});
    data.groups[0].layers.push_back("odd");
    data.groups[0].spec = spec("AcmeSpec", 16, 1024);
    data.caches.push_back({"odd", {contiguous("int8", std::move(shape))}, false});
    return edited(data);
  };
  CHECK(order_of(shaped({4, 8, 128})) == "0 axis.0:8:128 axis.1:128:1 item:1:1");
  CHECK(print_of(shaped({4, 8, 128})) != print_of(shaped({4, 16, 64})));
}

TEST_CASE("compare_layouts: layers, fields and what does not matter") {
  RegistrationData a = dense_data({"one", "two"}), b = dense_data({"one", "two"});
  b.groups[0].spec =
      spec("FullAttentionSpec", 16, 1024,
           {field("num_kv_heads", 1), field("head_size", 16), field("dtype", "float16")});
  b.engine_version = "2";
  const LayoutDiff diff = compare_layouts(edited(a), edited(b));
  CHECK_FALSE(diff.may_share());
  REQUIRE(diff.groups.size() == 1);
  REQUIRE(diff.groups[0].differences.size() == 1);
  const LayoutDifference& dtype = diff.groups[0].differences[0];
  CHECK(dtype.field == "dtype");
  CHECK(dtype.a == "\"bfloat16\"");
  CHECK(dtype.b == "\"float16\"");
  CHECK(dtype.layer == "\"one\"");
  CHECK(dtype.layers == 2);
  CHECK(consequence(dtype) == "the same bits are other numbers");
  REQUIRE(diff.immaterial.size() == 1);
  CHECK(diff.immaterial[0].field == "engine");
  CHECK(compare_layouts(edited(a), edited(a)).may_share());
}
