#include "trials.hpp"

#include <utility>

#include <catch2/catch.hpp>

#include "golden/given.hpp"

namespace kvedit::verify {

Result result_of(const std::string& name, Profile profile) {
  EditOptions options;
  options.profile = profile;
  Result result =
      golden::standard_host().edit(Registration(golden::given_registration(name)), options);
  REQUIRE(result.ok());
  return result;
}

Report report_of(const Result& result, const Answers& answers) {
  Options options;
  options.blocks = 2;
  const Expected<Report> report = verify(result, options, answers);
  if (!report) FAIL(report.error().text());
  return *report;
}

std::set<std::string> faulty(const Result& result, const Report& report, const std::string& kind) {
  std::set<std::string> names;
  for (const LayerCheck& check : report.layers)
    for (const std::string& fault : check.faults)
      if (fault.compare(0, kind.size(), kind) == 0) names.emplace(result.layer(check.layer).name());
  return names;
}

std::string faults_of(const Report& report) {
  std::string all;
  for (const std::string& fault : report.faults) all += fault + "\n";
  for (const LayerCheck& check : report.layers)
    for (const std::string& fault : check.faults)
      all += std::to_string(check.layer) + ": " + fault + "\n";
  return all;
}

RegistrationData half_a_terabyte(bool heads_outside) {
  constexpr std::int64_t blocks = 100000;
  constexpr std::int64_t heads = 8, tokens = 16, content = 256, item = 2;
  constexpr std::int64_t page = heads * tokens * content * item;
  RegistrationData data;
  data.layout = heads_outside ? "LHBNC" : "LBHNC";
  data.num_blocks = blocks;
  const std::int64_t layer_bytes = blocks * page;
  data.storages = {{"s0", 80 * layer_bytes, "cuda:0"}};
  Group group;
  for (int layer = 0; layer < 80; ++layer)
    group.layers.push_back("layers." + std::to_string(layer));
  const Expected<Spec> spec = make_spec("FullAttentionSpec", {"AttentionSpec"},
                                        {{"block_size", Value::of(tokens)},
                                         {"page_size_bytes", Value::of(page)},
                                         {"num_kv_heads", Value::of(heads)},
                                         {"head_size", Value::of(std::int64_t{128})},
                                         {"dtype", Value::of("bfloat16")}});
  REQUIRE(spec.has_value());
  group.spec = *spec;
  data.groups = {group};
  const std::int64_t row = tokens * content;
  if (!heads_outside) data.placements = {{"s0", group.layers, 0, layer_bytes, page}};
  const std::vector<std::int64_t> stride =
      heads_outside ? std::vector<std::int64_t>{row, blocks * row, content, 1}
                    : std::vector<std::int64_t>{heads * row, row, content, 1};
  for (int layer = 0; layer < 80; ++layer)
    data.caches.push_back({group.layers[static_cast<std::size_t>(layer)],
                           {{*find_dtype("bfloat16"),
                             {blocks, heads, tokens, content},
                             stride,
                             layer * layer_bytes / item,
                             "s0"}},
                           false});
  return data;
}

}  // namespace kvedit::verify
