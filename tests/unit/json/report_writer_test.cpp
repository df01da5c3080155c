#include <regex>

#include <boost/json.hpp>
#include <catch2/catch.hpp>

#include <kvedit/json.hpp>

#include "model/edit.hpp"

using namespace kvedit;

namespace {

class NamedRule : public Rule {
 public:
  explicit NamedRule(RuleInfo info) : info_(std::move(info)) {}
  const RuleInfo& info() const override { return info_; }
  Answer answer(const LayerFacts&) const override { return {}; }

 private:
  RuleInfo info_;
};

std::shared_ptr<const RuleBook> two_rules() {
  auto book = std::make_shared<RuleBook>();
  book->infos = {{"kvedit.mamba-page", "kvedit.mamba-page", "0.1.0", "standard", 200, "00ff"},
                 {"acme.\"own\"", "acme", "2", "fallback", -3, ""}};
  for (const RuleInfo& info : book->infos) book->rules.push_back(std::make_shared<NamedRule>(info));
  return book;
}

Registration registration() {
  RegistrationData data;
  data.num_blocks = 4;
  data.storages = {{"s0", 8192, "cpu"}, {"s1", 4096, "cpu"}};
  const Tensor whole{*find_dtype("bfloat16"), {4, 512}, {1024, 1}, 8, "s0"};
  const Tensor second{*find_dtype("float32"), {4, 16}, {16, 1}, 0, "s1"};
  data.caches = {
      {"one", {whole}, false}, {"two", {whole, second}, true}, {"loose", {second}, false}};
  return Registration(std::move(data));
}

const Spec& states() {
  static const Spec spec = [] {
    Spec made;
    made.kind = kvedit::Kind::mamba;
    return made;
  }();
  return spec;
}

/// K in tensor 0, V in tensor 1, 8 elements of 2 heads and 16 states each.
const Spec& apart() {
  static const Spec spec = [] {
    Spec made;
    made.kind = kvedit::Kind::full_attention;
    made.heads = 2;
    made.head_size = 8;
    return made;
  }();
  return spec;
}

LayerClass one_tensor(const std::vector<Tensor>& tensors) {
  LayerClass layers;
  layers.facts.spec = &states();
  layers.facts.tensors = tensors;
  layers.rule = 0;
  layers.layers = 1;
  layers.tried = {{1, Verdict::no_match, "kind is mamba"}, {0, Verdict::match, ""}};
  layers.views = {{*find_dtype("float32"),
                   {4, 2, 128},
                   {512, 128, 1},
                   0,
                   0,
                   0,
                   {Role::block, Role::kv, Role::content}}};
  ProvedPage& page = layers.page.emplace();
  page.blocks = 4;
  page.kernel_pages = 2;
  page.block_bytes = 1000;
  page.payload = {{0, 16, 2048, {{0, 400}, {1024, 600}}}};
  page.reaches = {{0, 16, 8160}};
  layers.slots = 16;
  layers.tokens = 32;
  layers.opaque = true;
  return layers;
}

LayerClass two_tensors(const std::vector<Tensor>& tensors) {
  LayerClass layers;
  layers.facts.spec = &apart();
  layers.facts.slots = 16;
  layers.facts.tensors = tensors;
  layers.layers = 1;
  layers.views = {
      {*find_dtype("bfloat16"), {4, 512}, {1024, 1}, 0, 0, 0, {Role::block, Role::opaque}},
      {*find_dtype("float32"), {16, 4}, {1, 16}, 1, 0, 1, {Role::head, Role::block}}};
  ProvedPage& page = layers.page.emplace();
  page.blocks = 4;
  page.block_bytes = 1088;
  page.declared = true;
  for (const std::uint32_t tensor : {0U, 1U}) {
    page.boxes.push_back({tensor, 0, tensors[tensor].dtype.itemsize, {}});
    for (const Axis& axis :
         {Axis{16, 64, Role::token}, Axis{2, 32, Role::head}, Axis{8, 4, Role::content}})
      page.boxes.back().axes.push_back(axis);
  }
  page.payload = {{0, 0, 2048, {{0, 1024}}}, {1, 0, 64, {{0, 64}}}};
  page.reaches = {{0, 0, 7168}, {1, 0, 256}};
  layers.slots = 1;
  layers.tokens = 16;
  return layers;
}

std::shared_ptr<Edit> edited() {
  auto edit = std::make_shared<Edit>(
      registration(), EditOptions{Profile::packed, Purpose::transfer, false}, two_rules());
  edit->ok = true;
  edit->problems = {{Severity::warning,
                     Code::profile,
                     3,
                     "",
                     "",
                     "group 3",
                     {{"slots", 544}, {"read_as", "one"}, {"slots", 2}}},
                    {Severity::warning, Code::pack_refused, -1, "one", "acme.x", "a\nb", {}}};
  edit->groups = {
      {0, kvedit::Kind::mamba, 1, GroupOutcome::served, 32, 16, 1000, Retention::window, 64},
      {1, kvedit::Kind::unknown, 0, GroupOutcome::refused, 16, {}, {}, Retention::full, {}}};
  edit->chunk_tokens = 32;
  const std::vector<Cache>& caches = edit->registration.data().caches;
  edit->classes = {one_tensor(caches[0].tensors), two_tensors(caches[1].tensors)};
  edit->reasons = {"shares one"};
  edit->layers = {{"one", 0, 0, 0, Outcome::edited, 0, -1},
                  {"two", 1, 1, 1, Outcome::scratch, 1, -1},
                  {"loose", -1, 2, -1, Outcome::excluded, 0, 0}};
  for (const std::size_t layer : {0U, 1U})
    for (const PartShape& shape : edit->classes[layer].page->payload)
      edit->parts.push_back(place(*edit, edit->layers[layer], shape));
  return edit;
}

}  // namespace

namespace {

/// What fingerprints are is said elsewhere; here only that they are there.
std::string with_known_prints(const std::string& report) {
  return std::regex_replace(report, std::regex("kvx1-[0-9a-f]{32}"), "kvx1-...");
}

}  // namespace

TEST_CASE("a report has every field of the format, in order") {
  CHECK(with_known_prints(write_report(Result(edited()))) == R"report({
  "schema": "kvedit.report/1",
  "ok": true,
  "kvedit": {"version": "0.1.0", "rule_abi": "1"},
  "profile": "packed",
  "purpose": "transfer",
  "rules": [
    {"id": "kvedit.mamba-page", "pack": "kvedit.mamba-page", "version": "0.1.0", "tier": "standard", "priority": 200, "sha256": "00ff", "layers": 1},
    {"id": "acme.\"own\"", "pack": "acme", "version": "2", "tier": "fallback", "priority": -3, "sha256": null, "layers": 0}
  ],
  "problems": [
    {"severity": "warning", "code": "profile", "group": 3, "layer": null, "rule": null, "message": "group 3", "facts": {"slots": 544, "read_as": "one"}},
    {"severity": "warning", "code": "pack-refused", "group": null, "layer": "one", "rule": "acme.x", "message": "a\u000ab", "facts": {}}
  ],
  "groups": [
    {"index": 0, "kind": "mamba", "layers": 1, "outcome": "served", "tokens_per_block": 32, "slots_per_block": 16, "block_bytes": 1000, "retention": "window", "window_tokens": 64, "fingerprint": "kvx1-..."},
    {"index": 1, "kind": "unknown", "layers": 0, "outcome": "refused", "tokens_per_block": 16, "slots_per_block": null, "block_bytes": null, "retention": "full", "window_tokens": null, "fingerprint": null}
  ],
  "chunk_tokens": 32,
  "fingerprint": "kvx1-...",
  "allocations": [
    {"storage": "s0", "base": 16, "nbytes": 8160, "layers": ["one", "two"]},
    {"storage": "s1", "base": 0, "nbytes": 256, "layers": ["two"]}
  ],
  "layers": [
    {"name": "one", "group": 0, "outcome": "edited", "rule": "kvedit.mamba-page", "reason": null, "view": {"dtype": "float32", "shape": [4, 2, 128], "stride": [512, 128, 1], "storage_offset": 4, "storage": "s0", "block_axis": 0, "axes": ["block", "kv", "content"]}, "pages": {"blocks": 4, "parts": [{"storage": "s0", "base": 32, "block_stride": 2048, "ranges": [[0, 400], [1024, 600]]}], "block_bytes": 1000, "kernel_pages": 2, "slots": 16, "tokens": 32, "opaque": true, "opaque_because": "recurrent", "content": null, "order": "proved"}, "tried": [{"rule": "acme.\"own\"", "answer": "no-match", "reason": "kind is mamba"}, {"rule": "kvedit.mamba-page", "answer": "match", "reason": null}]},
    {"name": "two", "group": 1, "outcome": "scratch", "rule": null, "reason": null, "view": [{"dtype": "bfloat16", "shape": [4, 512], "stride": [1024, 1], "storage_offset": 8, "storage": "s0", "block_axis": 0, "axes": ["block", "opaque"]}, {"dtype": "float32", "shape": [16, 4], "stride": [1, 16], "storage_offset": 0, "storage": "s1", "block_axis": 1, "axes": ["head", "block"]}], "pages": {"blocks": 4, "parts": [{"storage": "s0", "base": 16, "block_stride": 2048, "ranges": [[0, 1024]]}, {"storage": "s1", "base": 0, "block_stride": 64, "ranges": [[0, 64]]}], "block_bytes": 1088, "kernel_pages": 1, "slots": 1, "tokens": 16, "opaque": false, "opaque_because": null, "content": {"form": "kv-tensors", "key_elements": 8, "value_elements": 8}, "order": "declared"}, "tried": []},
    {"name": "loose", "group": null, "outcome": "excluded", "rule": null, "reason": "shares one", "view": null, "pages": null, "tried": []}
  ]
}
)report");
}

TEST_CASE("a report that is not ok shows neither views nor pages") {
  auto edit = edited();
  edit->ok = false;
  edit->chunk_tokens.reset();
  edit->problems[0].severity = Severity::error;
  const auto report = boost::json::parse(write_report(Result(edit)));
  CHECK(report.at("ok") == false);
  CHECK(report.at("chunk_tokens").is_null());
  CHECK(report.at("allocations").as_array().empty());
  CHECK(report.at("fingerprint").is_null());
  CHECK(report.at("groups").at(0).at("fingerprint").is_null());
  CHECK(report.at("problems").at(0).at("severity") == "error");
  REQUIRE(report.at("layers").as_array().size() == 3);
  for (const auto& layer : report.at("layers").as_array()) {
    CHECK(layer.at("view").is_null());
    CHECK(layer.at("pages").is_null());
  }
  CHECK(report.at("layers").at(0).at("tried").as_array().size() == 2);
}

TEST_CASE("an empty report is valid") {
  auto edit = std::make_shared<Edit>(Registration({}), EditOptions{}, std::make_shared<RuleBook>());
  const auto report = boost::json::parse(write_report(Result(edit)));
  CHECK(report.at("schema") == "kvedit.report/1");
  CHECK(report.at("profile") == "native");
  CHECK(report.at("purpose") == "prefix");
  CHECK(report.as_object().size() == 12);
  for (const char* list : {"rules", "problems", "groups", "allocations", "layers"})
    CHECK(report.at(list).as_array().empty());
}
