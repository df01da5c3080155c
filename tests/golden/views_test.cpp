#include <catch2/catch.hpp>

#include "given.hpp"

namespace kvedit::golden {
namespace {

using Numbers = std::vector<std::int64_t>;

Result edit(const std::string& name, Profile profile) {
  EditOptions options;
  options.profile = profile;
  return standard_host().edit(Registration(given_registration(name)), options);
}

bool served(const std::string& name) { return expected_report(name).refused_as_one_of.empty(); }

/// A page of one range, in one storage, is what `bytes` can show.
bool owns_one_window(const ExpectedLayer& layer) {
  std::size_t ranges = 0;
  for (const auto& [storage, each] : layer.owned) ranges += each.size();
  return ranges == 1;
}

void check_views(const LayerResult& layer, const ExpectedLayer& expected,
                 const RegistrationData& data) {
  REQUIRE(layer.view_count() > 0);
  for (std::size_t i = 0; i < layer.view_count(); ++i) {
    const View view = layer.view(i);
    REQUIRE(view.shape.size() == view.stride.size());
    REQUIRE(view.axes.size() == view.shape.size());
    REQUIRE(view.block_axis < view.shape.size());
    CHECK(view.axes[view.block_axis] == Role::block);
    CHECK(view.shape[view.block_axis] == expected.blocks);
  }
  for (const std::int64_t block : some_blocks(expected.blocks)) {
    INFO("block " << block);
    Spans seen;
    for (std::size_t i = 0; i < layer.view_count(); ++i)
      seen = united(seen, spans_of(layer.view(i), block));
    CHECK_FALSE(seen.twice);
    CHECK(covers(seen, spans_of(expected.parts, block, data)));
    CHECK(covers(expected_owned(expected, block, data), seen));
  }
}

void check_view(const View& view, const ExpectedView& expected) {
  CHECK(Numbers(view.shape.begin(), view.shape.end()) == expected.shape);
  REQUIRE(view.stride.size() == expected.stride.size());
  for (std::size_t i = 0; i < expected.stride.size(); ++i)
    if (expected.shape[i] > 1)  // any stride is right for one index
      CHECK(view.stride[i] == expected.stride[i]);
  CHECK(view.dtype->name == expected.dtype);
  if (expected.axes.empty()) return;
  std::vector<std::string> axes;
  for (const Role role : view.axes) axes.emplace_back(to_text(role));
  CHECK(axes == expected.axes);
}

void check_all_views(const std::string& name, Profile profile) {
  INFO(name << " in " << to_text(profile));
  const Result result = edit(name, profile);
  INFO(problems_of(result));
  REQUIRE(result.ok());
  for (const auto& [layer_name, expected] : expected_report(name).layers) {
    if (expected.outcome == "excluded") continue;
    INFO(layer_name);
    const std::optional<LayerResult> layer = result.find_layer(layer_name);
    REQUIRE(layer.has_value());
    check_views(*layer, expected, result.registration().data());
    const auto stated = expected.views.find(std::string(to_text(profile)));
    if (stated == expected.views.end()) continue;
    REQUIRE(layer->view_count() == stated->second.size());
    for (std::size_t i = 0; i < stated->second.size(); ++i)
      check_view(layer->view(i), stated->second[i]);
  }
}

/// Shape, strides and dtype of the only view of a layer.
void check_view(const std::string& name, const std::string& layer_name, Profile profile,
                const Numbers& shape, const Numbers& stride, const std::string& dtype) {
  INFO(name << ": " << layer_name);
  const Result result = edit(name, profile);
  REQUIRE(result.ok());
  const std::optional<LayerResult> layer = result.find_layer(layer_name);
  REQUIRE(layer.has_value());
  REQUIRE(layer->view_count() == 1);
  check_view(layer->view(0), {shape, stride, dtype});
}

const std::string qwen_nhd = "qwen3.5-0.8b-flashinfer-nhd";
const std::string qwen_hnd = "qwen3.5-0.8b-flashinfer-hnd";
const std::string attention_3 = "model.layers.3.self_attn.attn";
const std::string linear_0 = "model.layers.0.linear_attn";

}  // namespace

TEST_CASE("native views cover the payload and stay in what the block owns") {
  for (const std::string& name : registration_names())
    if (served(name)) check_all_views(name, Profile::native);
}

TEST_CASE("packed views cover the payload and stay in what the block owns") {
  for (const std::string& name : registration_names())
    if (served(name)) check_all_views(name, Profile::packed);
}

TEST_CASE("lmcache views cover the payload and stay in what the block owns, or are refused") {
  const std::set<std::string> misread = {"host-resident-source", "kv-tuple-two-allocations",
                                         "list-planes-apart", "live-v0320-gemma3", "llama-lhbnc"};
  for (const std::string& name : registration_names()) {
    if (!served(name)) continue;
    INFO(name);
    if (misread.contains(name) || expected_report(name).refused_profiles.contains("lmcache"))
      CHECK(error_codes(edit(name, Profile::lmcache)) == std::set<std::string>{"profile"});
    else
      check_all_views(name, Profile::lmcache);
  }
}

TEST_CASE("lmcache: pages are those of native") {
  for (const std::string& name : registration_names()) {
    if (!served(name)) continue;
    const Result native = edit(name, Profile::native), read = edit(name, Profile::lmcache);
    for (std::size_t l = 0; read.ok() && l < read.layer_count(); ++l) {
      INFO(name << ": " << read.layer(l).name());
      const auto pages = read.layer(l).pages(), other = native.layer(l).pages();
      REQUIRE(pages.has_value() == other.has_value());
      if (!pages) continue;
      CHECK(pages->slots == other->slots);
      CHECK(pages->kernel_pages == other->kernel_pages);
      CHECK(pages->opaque == other->opaque);
      CHECK(pages->block_bytes == other->block_bytes);
    }
  }
}

TEST_CASE("bytes views are whole pages, refused where a page is no single range") {
  std::size_t shown = 0;
  for (const std::string& name : registration_names()) {
    if (!served(name)) continue;
    INFO(name);
    bool one_window = true;
    for (const auto& [layer, expected] : expected_report(name).layers)
      one_window &= expected.outcome == "excluded" || owns_one_window(expected);
    if (!one_window) {
      CHECK(error_codes(edit(name, Profile::bytes)) == std::set<std::string>{"profile"});
      continue;
    }
    ++shown;
    check_all_views(name, Profile::bytes);
    const Result result = edit(name, Profile::bytes);
    for (const auto& [layer_name, expected] : expected_report(name).layers) {
      if (expected.outcome == "excluded") continue;
      const View view = result.find_layer(layer_name)->view(0);
      const std::int64_t page = expected.owned.begin()->second.front().second;
      CHECK(Numbers(view.shape.begin(), view.shape.end()) == Numbers{expected.blocks, page});
      CHECK(Numbers(view.stride.begin(), view.stride.end()) ==
            Numbers{expected.parts.front().block_stride, 1});
      CHECK(view.dtype->name == "uint8");
    }
  }
  CHECK(shown > 150);
}

TEST_CASE("native: kernel pages become one page of two halves") {
  for (const std::string& name : {qwen_nhd, qwen_hnd})
    check_view(name, attention_3, Profile::native, {64, 2, 544, 1, 512},
               {557056, 278528, 512, 512, 1}, "bfloat16");
}

TEST_CASE("packed: tokens first or heads first, as they lie in memory") {
  check_view(qwen_nhd, attention_3, Profile::packed, {64, 544, 1, 1024}, {557056, 1024, 1024, 1},
             "bfloat16");
  check_view(qwen_hnd, attention_3, Profile::packed, {64, 1, 544, 1024}, {557056, 557056, 1024, 1},
             "bfloat16");
}

TEST_CASE("native: a state row is cut into as many slots as a block has tokens") {
  // The layout says tokens before heads: the token axis comes first.
  check_view(qwen_nhd, linear_0, Profile::native, {64, 544, 1, 2000}, {1114112, 2000, 2000, 1},
             "int8");
  // Heads before tokens.
  const Result result = edit("jamba-mini-flashinfer", Profile::native);
  REQUIRE(result.ok());
  const View view = result.find_layer(linear_0)->view(0);
  CHECK(Numbers(view.shape.begin(), view.shape.end()) == Numbers{61, 1, 80, 3904});
  CHECK(view.stride[0] == 327680);
  CHECK(view.stride[2] == 3904);
  CHECK(view.stride[3] == 1);
}

TEST_CASE("lmcache: kernel pages and state rows in the order of the layout") {
  check_view(qwen_nhd, attention_3, Profile::lmcache, {64, 2, 544, 1, 512},
             {557056, 278528, 512, 512, 1}, "bfloat16");
  check_view(qwen_hnd, attention_3, Profile::lmcache, {64, 1, 544, 1024}, {557056, 557056, 1024, 1},
             "bfloat16");
  check_view(qwen_hnd, linear_0, Profile::lmcache, {64, 1, 544, 2000}, {1114112, 1088000, 2000, 1},
             "int8");
  check_view("v028-grouped-k17", attention_3, Profile::lmcache, {33, 1, 544, 1024},
             {557056, 557056, 1024, 1}, "bfloat16");
  const Result mla = edit("live-v0300-deepseek-v2", Profile::lmcache);
  REQUIRE(mla.ok());
  CHECK(mla.layer(0).view(0).stride[1] == 576);
}

TEST_CASE("native: a state row that cannot be cut stays as registered") {
  check_view("glm-5.3-flash-blhnc", linear_0, Profile::native, {18, 1, 1, 1085440},
             {4325376, 1085440, 1085440, 1}, "int8");
  check_view("row-odd-width", "model.layers.0.kda", Profile::native, {6, 1, 1, 1085440},
             {1085440, 1085440, 1085440, 1}, "int8");
}

TEST_CASE("native: a list of states in one page becomes the whole page in two halves") {
  check_view("v025-qwen3.5-0.8b-split5", linear_0, Profile::native, {40, 2, 544, 1, 512},
             {557056, 278528, 512, 512, 1}, "bfloat16");
}

TEST_CASE("native: MLA keeps its rank and merges the states") {
  const Result kimi = edit("kimi-linear-tp2-flashmla", Profile::native);
  REQUIRE(kimi.ok());
  const View view = kimi.find_layer("model.layers.2.self_attn.attn")->view(0);
  CHECK(Numbers(view.shape.begin(), view.shape.end()) == Numbers{19, 1, 960, 576});
  CHECK(view.stride[0] == 552960);
  CHECK(view.stride[2] == 576);
  CHECK(view.stride[3] == 1);
  check_view("v027-kimi-mla-rank3-k12", "model.layers.3.mla", Profile::native, {14, 768, 576},
             {442368, 576, 1}, "bfloat16");
}

TEST_CASE("native: what is one entry a block already stays as registered") {
  check_view("qwen3.5-0.8b-flashattn", attention_3, Profile::native, {64, 2, 544, 512},
             {557056, 512, 1024, 1}, "bfloat16");
  check_view("llama-lhbnc", "model.layers.0.self_attn.attn", Profile::native, {24, 8, 16, 256},
             {4096, 98304, 256, 1}, "bfloat16");
}

TEST_CASE("native: K and V planes keep their axes, and the block axis is the second") {
  const Result result = edit("v022-dense-kv-planes", Profile::native);
  REQUIRE(result.ok());
  const View view = result.find_layer("model.layers.0.self_attn.attn")->view(0);
  CHECK(Numbers(view.shape.begin(), view.shape.end()) == Numbers{2, 50, 16, 8, 128});
  CHECK(view.block_axis == 1);
}

TEST_CASE("kernel pages on an axis of their own look like those that have none") {
  const std::string name = "v028-grouped-k17";
  check_view(name, attention_3, Profile::native, {33, 2, 544, 1, 512},
             {557056, 278528, 512, 512, 1}, "bfloat16");
  check_view(name, attention_3, Profile::packed, {33, 1, 544, 1024}, {557056, 557056, 1024, 1},
             "bfloat16");
}

TEST_CASE(
    "native and packed: kernel pages of K and V planes, tokens first, become one token axis") {
  const std::string name = "v022-dense-block128-kv-planes-k2";
  for (const Profile profile : {Profile::native, Profile::packed}) {
    const Result result = edit(name, profile);
    REQUIRE(result.ok());
    const LayerResult layer = *result.find_layer("model.layers.0.self_attn.attn");
    CHECK(layer.rule() == "kvedit.kv-planes");
    REQUIRE(layer.view_count() == 1);
    const View view = layer.view(0);
    CHECK(Numbers(view.shape.begin(), view.shape.end()) == Numbers{2, 36, 128, 8, 128});
    CHECK(Numbers(view.stride.begin(), view.stride.end()) ==
          Numbers{4718592, 131072, 1024, 128, 1});
    CHECK(view.block_axis == 1);
    CHECK(std::vector<Role>(view.axes.begin(), view.axes.end()) ==
          std::vector{Role::kv, Role::block, Role::token, Role::head, Role::content});
  }
  const Result bytes = edit(name, Profile::bytes);
  CHECK(error_codes(bytes) == std::set<std::string>{"profile"});
  const std::vector<Fact>& facts = bytes.problems().front().facts;
  REQUIRE(facts.size() == 1);
  CHECK(facts[0].name == "runs");
  CHECK(std::get<std::int64_t>(facts[0].value) == 2);
}

}  // namespace kvedit::golden
