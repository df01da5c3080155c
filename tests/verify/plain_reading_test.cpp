#include "verify/plain_reading.hpp"

#include <string>

#include <catch2/catch.hpp>

#include "golden/given.hpp"

namespace kvedit::verify {
namespace {

golden::Spans spans_of(const Runs& runs) {
  std::vector<golden::Span> spans;
  for (const Run& run : runs) spans.push_back({run.storage, run.begin, run.end()});
  return golden::united(std::move(spans));
}

/// Group of a layer by the registration's lists.
std::int32_t group_of(const RegistrationData& data, const std::string& layer) {
  for (std::size_t g = 0; g < data.groups.size(); ++g)
    for (const std::string& name : data.groups[g].layers)
      if (name == layer) return static_cast<std::int32_t>(g);
  return -1;
}

}  // namespace

TEST_CASE("what the plain walk finds is what each given registration is expected to have") {
  std::size_t layers = 0;
  for (const std::string& name : golden::registration_names()) {
    const Registration registration(golden::given_registration(name));
    const RegistrationData& data = registration.data();
    const Facts facts(registration);
    for (const auto& [layer, expected] : golden::expected_report(name).layers) {
      if (expected.parts.empty()) continue;
      INFO(name << ", " << layer);
      const auto plain =
          PlainReading::find(facts.of(layer, group_of(data, layer)), expected.kernel_pages);
      REQUIRE(plain.has_value());
      for (const std::int64_t block : golden::some_blocks(expected.blocks)) {
        const golden::Spans payload = spans_of(plain->payload(block));
        CHECK_FALSE(payload.twice);
        CHECK(payload == golden::spans_of(expected.parts, block, data));
        CHECK(spans_of(plain->owned(block)) == golden::expected_owned(expected, block, data));
      }
      ++layers;
    }
  }
  CHECK(layers > 500);
}

TEST_CASE("the plain walk finds nothing where no axis has that many entries") {
  const Registration registration(golden::given_registration("qwen3.5-0.8b-flashinfer-nhd"));
  const LayerFacts facts = Facts(registration).of("model.layers.3.self_attn.attn", 3);
  CHECK(PlainReading::find(facts, 17).has_value());
  for (const std::int64_t kernel_pages : {1, 2, 16, 18, 1088})
    CHECK_FALSE(PlainReading::find(facts, kernel_pages).has_value());
}

TEST_CASE("entry b is block b only where no block has two entries and axis 0 carries them") {
  const auto indexed = [](const char* name, const char* layer, std::int32_t group,
                          std::int64_t kernel_pages) {
    const Registration registration(golden::given_registration(name));
    const auto plain = PlainReading::find(Facts(registration).of(layer, group), kernel_pages);
    REQUIRE(plain.has_value());
    return plain->indexed_by_block();
  };
  CHECK(indexed("qwen3.5-0.8b-flashinfer-nhd", "model.layers.0.linear_attn", 0, 1));
  CHECK_FALSE(indexed("qwen3.5-0.8b-flashinfer-nhd", "model.layers.3.self_attn.attn", 3, 17));
  CHECK_FALSE(indexed("v022-dense-kv-planes", "model.layers.0.self_attn.attn", 0, 1));
}

}  // namespace kvedit::verify
