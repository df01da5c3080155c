#include <kvedit/explain.hpp>

#include <algorithm>
#include <sstream>

#include <catch2/catch.hpp>

#include <kvedit/printable.hpp>

#include "layers.hpp"
#include "pipeline.hpp"

using namespace kvedit;
using namespace kvedit::testing;

namespace {

Result edited(const RegistrationData& data, RuleBook book = {}) {
  return Result(
      run_pipeline(Registration(data), {}, std::make_shared<const RuleBook>(std::move(book))));
}

void check_has(const std::string& text, std::initializer_list<const char*> words) {
  for (const char* word : words) {
    INFO(text);
    CHECK(text.find(word) != std::string::npos);
  }
}

/// What terminals obey, but line feeds: `printable` is held against the standard elsewhere.
bool has_control(const std::string& text) {
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);)
    if (printable(line) != line) return true;
  return false;
}

/// Says that the entries of axis 0 of an attention layer are its kernel pages, in a row.
RuleBook kernel_pages() {
  RuleBook book;
  add_rule(book, "test.recurrent", [](const LayerFacts&) { return no_match("it is no row"); });
  add_rule(book, "test.pages", [](const LayerFacts& layer) {
    const Tensor& tensor = layer.tensors[0];
    if (tensor.shape[0] == layer.num_blocks) return no_match("one entry is one page");
    Box box{0, 0, tensor.dtype.itemsize, {}};
    for (std::size_t a = 0; a < tensor.shape.size(); ++a)
      box.axes.push_back({tensor.shape[a], tensor.stride[a] * tensor.dtype.itemsize,
                          a == 0   ? Role::block
                          : a == 2 ? Role::token
                                   : Role::content});
    return Answer{Verdict::match, "17 kernel pages make the page", {{box}, false}, {}};
  });
  return book;
}

/// A page of 557,056 bytes in 17 kernel pages of 32 tokens.
RegistrationData kernel_paged() {
  RegistrationData data;
  data.model = "tiny";
  data.num_blocks = 4;
  data.storages.push_back({"s0", 1 << 22, "cpu"});
  data.caches.push_back({"attn", {contiguous("bfloat16", {68, 1, 32, 512})}, false});
  data.groups.push_back({});
  data.groups[0].layers.push_back("attn");
  data.groups[0].spec = spec("FullAttentionSpec", 544, 557056);
  return data;
}

RegistrationData padded() {
  RegistrationData data;
  data.num_blocks = 4;
  data.storages.push_back({"s0", 4096, "cpu"});
  data.caches.push_back({"padded", {tensor("int8", {4, 1000}, {1024, 1})}, false});
  data.groups.push_back({});
  data.groups[0].layers.push_back("padded");
  data.groups[0].spec = padded_attention(1024, 1000);
  return data;
}

RegistrationData hostile() {
  const std::string evil =
      "evil\u202e\x1b[31m\r\n\t\x7f\u009b"
      "31m";
  RegistrationData data = dense_data({evil, evil + "2"});
  data.model = data.engine_name = data.engine_version = evil;
  data.layout = evil;
  data.groups[0].role = evil;
  data.groups[0].spec = *make_spec(evil, {evil},
                                   {field("block_size", 16), field("kind", "unknown"),
                                    field("page_size_bytes", 1024), field(evil, evil.c_str())});
  for (Cache& cache : data.caches) cache.tensors[0].dtype = opaque_dtype(evil, 2);
  return data;
}

}  // namespace

TEST_CASE("explain: from what shape to what, by which rule, with the numbers") {
  const Result result = edited(kernel_paged(), kernel_pages());
  REQUIRE(result.ok());
  const std::string text = explain(result);
  check_has(text,
            {"tiny", "1 layer", "attn", "edited", "test.pages", "[68, 1, 32, 512]",
             "[16384, 16384, 512, 1]", "[4, 2, 544, 1, 256]", "[278528, 139264, 256, 256, 1]",
             "17 kernel pages", "544 slots", "557056", "opaque",
             "smallest legal chunk: 544 tokens; its multiples are legal too", "full_attention",
             "served", "retention full", "s0     bytes 0 to 2228224 of 4194304, 1 layer, cpu"});
}

TEST_CASE("explain: how much padding is left out") {
  const Result result = edited(padded());
  REQUIRE(result.ok());
  check_has(explain(result), {"padded", "passed", "1000 bytes", "24 of 1024"});
}

TEST_CASE("explain: problems come first, with layer, group, numbers and what to do") {
  const Result result = edited(kernel_paged());
  REQUIRE_FALSE(result.ok());
  const std::string text = explain(result);
  CHECK(text.rfind("error granularity-mismatch: ", 0) == 0);
  check_has(text, {"layer attn of group 0", "32768", "17", "557056", "rule"});
  CHECK(text.find("smallest legal chunk") == std::string::npos);
}

TEST_CASE("explain: what is right and not served is held back") {
  RegistrationData data = padded();
  data.groups.push_back(dense_group());
  data.groups[1].layers = {"never"};
  const Result result = edited(data);
  REQUIRE_FALSE(result.ok());
  const std::string text = explain(result);
  check_has(text, {"padded (group 0) passed, held back", "never (group 1) failed\n", "refused"});
  CHECK(text.find("served  ") == std::string::npos);
  check_has(explain_layer(result, *result.find_layer("padded")),
            {"passed, held back: no layer is served until every error is gone"});
  CHECK(explain(edited(padded())).find("held back") == std::string::npos);
}

TEST_CASE("explain: errors come before warnings") {
  RuleBook book;
  Problem warning;
  warning.severity = Severity::warning;
  warning.code = Code::pack_refused;
  warning.message = "a pack";
  book.problems.push_back(warning);
  const std::string text = explain(edited(kernel_paged(), std::move(book)));
  const std::size_t error = text.find("error granularity-mismatch"),
                    warned = text.find("warning pack-refused");
  REQUIRE(warned != std::string::npos);
  CHECK(error < warned);
}

TEST_CASE("explain: eighty layers of four kinds are a screen") {
  RegistrationData data;
  for (std::size_t g = 0; g < 4; ++g) {
    data.groups.push_back(dense_group());
    data.groups[g].spec = spec(g % 2 ? "SlidingWindowSpec" : "FullAttentionSpec", 16, 1024,
                               {field("num_kv_heads", 1), field("head_size", 16),
                                field("group", static_cast<std::int64_t>(g))});
  }
  for (std::size_t l = 0; l < 80; ++l)
    add_dense_layer(data, l % 4, "model.layers." + std::to_string(l));
  const std::string text = explain(edited(data));
  CHECK(std::count(text.begin(), text.end(), '\n') <= 40);
  check_has(text, {"80 layers", "20 x ", "model.layers.0", "model.layers.3", "16 tokens"});
  CHECK(text.find("model.layers.4 ") == std::string::npos);
}

TEST_CASE("explain: excluded layers keep their reason") {
  RegistrationData data = dense_data({"a", "b"});
  data.caches[1].tensors = data.caches[0].tensors;
  check_has(explain(edited(data)), {"excluded", "shares a"});
  RegistrationData kept = dense_data({"a"});
  kept.groups[0].enable_kv_transfer = false;
  check_has(explain(edited(kept)), {"excluded", "not-transferred"});
}

TEST_CASE("explain layer: spec, tensor, view, page, and what every rule answered") {
  const Result result = edited(kernel_paged(), kernel_pages());
  const std::string text = explain_layer(result, *result.find_layer("attn"));
  check_has(text, {"attn", "group 0", "FullAttentionSpec", "block_size", "544", "page_size_bytes",
                   "[68, 1, 32, 512]", "[4, 2, 544, 1, 256]", "s0", "test.recurrent", "no-match",
                   "it is no row", "test.pages", "match", "17 kernel pages make the page", "557056",
                   "proved", "4 blocks"});
}

TEST_CASE("explain layer: a refused layer shows its problem and the rules asked") {
  const Result result = edited(kernel_paged());
  const std::string text = explain_layer(result, *result.find_layer("attn"));
  CHECK(text.rfind("error granularity-mismatch: ", 0) == 0);
  check_has(text, {"failed", "rules asked", "none"});
}

TEST_CASE("explain: names from outside are shown, not obeyed, in colour or not") {
  RuleBook book;
  add_rule(book, "test.\x1b[1mshouts",
           [](const LayerFacts&) { return no_match("\x1b[2J\r\u009b\u202e"); });
  const Result result = edited(hostile(), std::move(book));
  for (std::size_t l = 0; l < result.layer_count(); ++l) {
    CHECK_FALSE(has_control(explain(result)));
    CHECK_FALSE(has_control(explain_layer(result, result.layer(l))));
  }
  RegistrationData wrong = hostile();
  wrong.caches[0].tensors[0].storage = "\x1b]0;title\x07";
  wrong.caches.pop_back();
  const Result refused = edited(wrong);
  REQUIRE_FALSE(refused.ok());
  CHECK_FALSE(has_control(explain(refused)));
  CHECK_FALSE(has_control(explain_layer(refused, refused.layer(0))));
  const std::string coloured = explain(result, {true});
  CHECK(coloured.find("\x1b[31mevil") == std::string::npos);
  CHECK(coloured.find("evil\x1b[31m") == std::string::npos);
}

TEST_CASE("explain: colours only when asked, and only around the same words") {
  for (const Result& result : {edited(kernel_paged(), kernel_pages()), edited(kernel_paged())}) {
    const std::string plain = explain(result);
    std::string coloured = explain(result, {true});
    CHECK(plain.find('\x1b') == std::string::npos);
    CHECK(coloured.find('\x1b') != std::string::npos);
    for (std::size_t at; (at = coloured.find('\x1b')) != std::string::npos;)
      coloured.erase(at, coloured.find('m', at) - at + 1);
    CHECK(coloured == plain);
    CHECK(explain_layer(result, result.layer(0)).find('\x1b') == std::string::npos);
  }
}

TEST_CASE("explain: an empty registration") {
  RegistrationData data;
  data.num_blocks = 1;
  const Result result = edited(data);
  CHECK(result.ok());
  check_has(explain(result), {"ok", "0 layers", "0 groups"});
}
