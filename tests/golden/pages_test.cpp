#include <catch2/catch.hpp>

#include "given.hpp"

namespace kvedit::golden {
namespace {

/// @param grouped  kernel pages have an axis of their own, which a rule names
Outcome expected_outcome(const ExpectedLayer& expected, Kind kind, bool grouped) {
  if (expected.outcome == "excluded") return Outcome::excluded;
  if (expected.outcome == "scratch") return Outcome::scratch;
  const bool one_page = expected.parts.size() == 1;  // else there is nothing a rule could cut
  const bool claimed = expected.kernel_pages > 1 || (kind == Kind::mamba && one_page) || grouped;
  return claimed ? Outcome::edited : Outcome::passed;
}

void check_pages(const LayerResult& layer, const ExpectedLayer& expected,
                 const RegistrationData& data) {
  const std::optional<PageMap> pages = layer.pages();
  REQUIRE(pages.has_value());
  CHECK(pages->blocks == expected.blocks);
  CHECK(pages->kernel_pages == expected.kernel_pages);
  CHECK(pages->slots == expected.slots);
  CHECK(pages->tokens == expected.tokens);
  CHECK_FALSE(pages->declared);
  const std::vector<Part> parts(pages->parts.begin(), pages->parts.end());
  for (const std::int64_t block : some_blocks(expected.blocks)) {
    INFO("block " << block);
    const Spans payload = spans_of(parts, block);
    CHECK(payload == spans_of(expected.parts, block, data));
    CHECK_FALSE(payload.twice);
    CHECK(payload.bytes() == pages->block_bytes);
    CHECK(spans_of(layer.owned(), block) == expected_owned(expected, block, data));
  }
}

void check_layers(const Result& result, const ExpectedReport& expected, bool grouped) {
  const RegistrationData& data = result.registration().data();
  std::size_t known = 0;
  for (std::size_t i = 0; i < result.layer_count(); ++i) {
    const LayerResult layer = result.layer(i);
    INFO(layer.name());
    const auto found = expected.layers.find(std::string(layer.name()));
    if (found == expected.layers.end()) {
      CHECK(layer.outcome() == Outcome::excluded);  // a layer without a cache of its own
      continue;
    }
    ++known;
    const Kind kind = layer.group() < 0
                          ? Kind::unknown
                          : data.groups[static_cast<std::size_t>(layer.group())].spec.kind;
    CHECK(layer.outcome() == expected_outcome(found->second, kind, grouped));
    if (layer.outcome() == Outcome::excluded)
      CHECK_FALSE(layer.reason().empty());
    else
      check_pages(layer, found->second, data);
  }
  CHECK(known == expected.layers.size());
}

}  // namespace

TEST_CASE("every given registration is right, or refused as expected") {
  std::size_t right = 0;
  for (const std::string& name : registration_names()) {
    INFO(name);
    const ExpectedReport expected = expected_report(name);
    const Result result = standard_host().edit(Registration(given_registration(name)));
    INFO(problems_of(result));
    ++right;
    if (!expected.refused_as_one_of.empty()) {
      REQUIRE_FALSE(result.ok());
      for (const std::string& code : error_codes(result))
        CHECK(expected.refused_as_one_of.contains(code));
      continue;
    }
    CHECK(result.ok());
    if (result.ok()) check_layers(result, expected, name == "v028-grouped-k17");
  }
  CHECK(right == 59);
}

TEST_CASE("a refused registration has neither views nor pages") {
  for (const std::string name : {"whisper-cross-attention", "qwen3.5-0.8b-mode-none"}) {
    const Result result = standard_host().edit(Registration(given_registration(name)));
    REQUIRE_FALSE(result.ok());
    for (std::size_t i = 0; i < result.layer_count(); ++i) {
      CHECK_FALSE(result.layer(i).pages().has_value());
      CHECK(result.layer(i).view_count() == 0);
      CHECK(result.layer(i).owned().empty());
    }
  }
}

TEST_CASE("for a transfer, groups that only a prefix cannot use are served with a warning") {
  for (const std::string name : {"whisper-cross-attention", "qwen3.5-0.8b-mode-none"}) {
    EditOptions options;
    options.purpose = Purpose::transfer;
    const Result result = standard_host().edit(Registration(given_registration(name)), options);
    INFO(problems_of(result));
    CHECK(result.ok());
    CHECK_FALSE(result.problems().empty());
  }
}

}  // namespace kvedit::golden
