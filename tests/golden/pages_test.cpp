#include <map>

#include <catch2/catch.hpp>

#include <kvedit/addresses.hpp>

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
  if (expected.chunk_tokens) CHECK(result.chunk_tokens() == expected.chunk_tokens);
}

/// None, but where the strides of a layer contradict the registration's layout.
void check_warnings(const Result& result, const std::string& name) {
  const std::map<std::string, std::size_t> contradicting = {
      {"field/dense-rank5-in-kernel-pages", 1},
      {"field/layout-name-against-the-strides", 2},
      {"field/nvfp4-scales-beside-the-values", 1}};
  const auto found = contradicting.find(name);
  CHECK(result.problems().size() == (found == contradicting.end() ? 0 : found->second));
  for (const Problem& problem : result.problems()) {
    CHECK(problem.severity == Severity::warning);
    CHECK(problem.message.find("layout HND puts heads outside tokens") != std::string::npos);
  }
}

void check_refusal(const Result& result, const ExpectedReport& expected) {
  REQUIRE_FALSE(result.ok());
  for (const std::string& code : error_codes(result))
    CHECK(expected.refused_as_one_of.contains(code));
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
      check_refusal(result, expected);
      continue;
    }
    CHECK(result.ok());
    check_warnings(result, name);
    if (result.ok()) check_layers(result, expected, name.find("grouped") != std::string::npos);
  }
  CHECK(right > 230);
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

TEST_CASE("addresses beyond 2^31 and 2^32 are whole") {
  const Result result =
      standard_host().edit(Registration(given_registration("field/pages-beyond-two-gigabytes")));
  REQUIRE(result.ok());
  const std::int64_t page = 1'007'616, state = 814'080;
  const std::int64_t wanted[] = {2198 * page, (2200 + 2199) * page};  // 2,214,739,968; beyond 2^32
  const std::int64_t blocks[] = {2198, 2199};
  for (std::size_t layer = 0; layer < 2; ++layer) {
    const auto map = AddressMap::make(result, std::array{layer});
    REQUIRE(map.has_value());
    const auto extents = map->extents(std::array{blocks[layer]});
    REQUIRE(extents.has_value());
    REQUIRE(extents->size() == 1);
    CHECK(static_cast<std::int64_t>((*extents)[0].address) == wanted[layer]);
    CHECK((*extents)[0].length == state);
  }
  CHECK(wanted[0] == 2'214'739'968);
  CHECK(wanted[1] > std::int64_t{1} << 32);
}

}  // namespace kvedit::golden
