#include <catch2/catch.hpp>

#include "given.hpp"
#include "reference/reference.hpp"

namespace kvedit::golden {
namespace {

using reference::Fate;
using reference::LayerTruth;

/// Of a registration: what the reference enumerates in about a second.
std::int64_t most_bytes(const std::string& name) {
  return name.starts_with("field/") ? 1 << 20 : 3 << 20;
}

Spans spans_of(const reference::Bytes& bytes) {
  std::vector<Span> runs;
  for (const reference::Byte& byte : bytes) {
    if (!runs.empty() && runs.back().storage == byte.storage && runs.back().end == byte.offset)
      ++runs.back().end;
    else
      runs.push_back({byte.storage, byte.offset, byte.offset + 1});
  }
  return united(std::move(runs));
}

std::int64_t bytes_of(const ExpectedReport& expected) {
  std::int64_t sum = 0;
  for (const auto& [name, layer] : expected.layers)
    for (const auto& [storage, ranges] : layer.owned)
      for (const auto& [offset, length] : ranges) sum += length * layer.blocks;
  return sum;
}

void check_layer(const LayerTruth& truth, const ExpectedLayer& expected,
                 const RegistrationData& data) {
  if (expected.outcome == "excluded") {
    CHECK(truth.fate == Fate::excluded);
    return;
  }
  INFO(truth.why);
  REQUIRE(truth.fate == Fate::served);
  CHECK(truth.scratch == (expected.outcome == "scratch"));
  CHECK(truth.blocks == expected.blocks);
  if (truth.kernel_pages != 0) CHECK(truth.kernel_pages == expected.kernel_pages);
  CHECK(truth.tokens == expected.tokens);
  if (truth.slots) CHECK(*truth.slots == expected.slots);
  for (const std::int64_t block : some_blocks(expected.blocks)) {
    const auto number = static_cast<std::size_t>(block);
    CHECK(spans_of(truth.payload[number]) == spans_of(expected.parts, block, data));
    CHECK(spans_of(truth.owned[number]) == expected_owned(expected, block, data));
  }
}

}  // namespace

TEST_CASE("the reference is right on the given registrations that it can enumerate") {
  std::size_t judged = 0;
  for (const std::string& name : registration_names()) {
    const ExpectedReport expected = expected_report(name);
    if (expected.layers.empty() || bytes_of(expected) > most_bytes(name)) continue;
    INFO(name);
    const RegistrationData data = given_registration(name);
    const reference::Truth truth = reference::judge(data, Purpose::prefix, most_bytes(name));
    for (const LayerTruth& layer : truth.layers) {
      INFO(layer.name);
      const auto found = expected.layers.find(layer.name);
      if (found == expected.layers.end())
        CHECK(layer.fate == Fate::excluded);
      else
        check_layer(layer, found->second, data);
    }
    ++judged;
  }
  CHECK(judged >= 20);
}

TEST_CASE("the reference refuses what must be refused") {
  for (const std::string name : {"whisper-cross-attention", "qwen3.5-0.8b-mode-none"}) {
    const reference::Truth truth = reference::judge(given_registration(name));
    CHECK(truth.any(Fate::refused));
    for (const std::string& code : expected_report(name).refused_as_one_of) {
      bool named = false;
      for (const Code each : truth.codes()) named |= to_text(each) == code;
      CHECK(named);
    }
  }
}

}  // namespace kvedit::golden
