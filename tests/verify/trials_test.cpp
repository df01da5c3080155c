#include <numeric>
#include <set>
#include <string>

#include <catch2/catch.hpp>

#include "golden/given.hpp"
#include "trials.hpp"

namespace kvedit::verify {
namespace {

const LayerCheck& check_of(const Result& result, const Report& report, const std::string& layer) {
  for (const LayerCheck& check : report.layers)
    if (result.layer(check.layer).name() == layer) return check;
  FAIL("no layer " + layer);
  return report.layers.front();
}

}  // namespace

TEST_CASE("figures of a hybrid model are those of its specs") {
  const Result result = result_of("qwen3.5-0.8b-flashinfer-nhd");
  const Report report = report_of(result, Answers::of(result));
  INFO(faults_of(report));
  REQUIRE(report.ok());
  CHECK(report.reserved_bytes == 427819008);
  REQUIRE(report.moves.size() == 4);
  CHECK(report.moves[0].from == std::vector<std::int64_t>{0, 63});
  CHECK(report.moves[0].to == std::vector<std::int64_t>{1, 62});

  const LayerCheck& attention = check_of(result, report, "model.layers.3.self_attn.attn");
  CHECK(attention.moved);
  CHECK(attention.by_tensors);
  CHECK(attention.blocks == 2);
  CHECK(attention.payload_bytes == 2 * 1114112);
  CHECK(attention.right_bytes == attention.payload_bytes);
  CHECK(attention.right_in_views == attention.payload_bytes);
  CHECK(attention.damaged_bytes == 0);
  CHECK(attention.untouched_bytes == 2 * 1114112);  // blocks 2 and 61
  CHECK_FALSE(attention.naive.is_block);
  CHECK(attention.naive.tried);
  CHECK(attention.naive.entries == 1088);
  CHECK(attention.naive.entry_bytes == 65536);
  CHECK(attention.naive.copied_bytes == 2 * 65536);
  CHECK(attention.naive.right_bytes == 0);

  const LayerCheck& states = check_of(result, report, "model.layers.0.linear_attn");
  CHECK(states.payload_bytes == 2 * 1085440);
  CHECK(states.untouched_bytes == 4 * 28672 + 2 * 1114112);  // padding, and two neighbours
  CHECK(states.naive.is_block);
  CHECK(states.naive.right_bytes == states.payload_bytes);
}

TEST_CASE("groups that lie over each other move at once under ids of their own") {
  const Result result = result_of("qwen3.5-0.8b-flashinfer-nhd");
  const Report report = report_of(result, Answers::of(result));
  CHECK(report.together.tried);
  CHECK(report.together.shared_bytes == 0);
  REQUIRE(report.together.moves.size() == 4);
  std::set<std::int64_t> ids;
  for (const GroupMove& move : report.together.moves) {
    ids.insert(move.from.begin(), move.from.end());
    ids.insert(move.to.begin(), move.to.end());
  }
  CHECK(ids.size() == 16);
  // Each group has ids beside those of another.
  CHECK(report.together.moves[0].from[0] + 1 == report.together.moves[1].from[0]);
  CHECK(report.together.moves[3].from[0] + 1 == report.together.moves[0].to[0]);
}

TEST_CASE("every view of every profile moves the payload") {
  for (const Profile profile : {Profile::native, Profile::packed, Profile::bytes})
    for (const char* name : {"live-v0320-falcon-h1", "deepseek-v4-flash-blhnc", "row-odd-width"}) {
      const Result result = result_of(name, profile);
      const Report report = report_of(result, Answers::of(result));
      INFO(name << "\n" << faults_of(report));
      CHECK(report.ok());
      for (const LayerCheck& check : report.layers)
        CHECK(check.right_in_views == check.payload_bytes);
    }
}

TEST_CASE("an entry that is a plane of all blocks is shown wrong by its size") {
  const Result result = result_of("v022-dense-kv-planes");
  const Report report = report_of(result, Answers::of(result));
  CHECK(report.ok());
  const NaiveReading& naive = report.layers.front().naive;
  CHECK_FALSE(naive.is_block);
  CHECK_FALSE(naive.tried);
  CHECK(naive.entries == 2);
}

TEST_CASE("only what is asked for is moved") {
  const Result result = result_of("qwen3.5-0.8b-flashinfer-nhd");
  Options options;
  options.blocks = 1;
  options.group = 3;
  const Expected<Report> group = verify(result, options);
  REQUIRE(group.has_value());
  std::int64_t moved = 0;
  for (const LayerCheck& check : group->layers) {
    moved += check.moved ? 1 : 0;
    CHECK(check.moved == (result.layer(check.layer).group() == 3));
  }
  CHECK(moved == 6);
  options.layer = "model.layers.0.linear_attn";  // of group 0
  const Expected<Report> neither = verify(result, options);
  REQUIRE_FALSE(neither.has_value());
  for (const char* part : {"model.layers.0.linear_attn", "group 0", "group 3"})
    CHECK(neither.error().text().find(part) != std::string::npos);
  options.layer = "never";
  CHECK_FALSE(verify(result, options).has_value());
  options.layer.reset();
  for (const std::int32_t wrong : {-1, 4}) {
    options.group = wrong;
    CHECK_FALSE(verify(result, options).has_value());
  }
}

TEST_CASE("progress goes up to the number of steps") {
  const Result result = result_of("llama-lhbnc");
  Options options;
  options.blocks = 1;
  std::size_t last = 0;
  std::size_t of = 0;
  options.progress = [&](std::size_t done, std::size_t steps) {
    CHECK(done == last + 1);
    last = done;
    of = steps;
  };
  REQUIRE(verify(result, options).has_value());
  CHECK(last > 0);
  CHECK(last == of);
}

TEST_CASE("80 layers over half a terabyte") {
  for (const bool heads_outside : {false, true}) {
    const Result result =
        golden::standard_host().edit(Registration(half_a_terabyte(heads_outside)));
    INFO(golden::problems_of(result));
    REQUIRE(result.ok());
    const Report report = report_of(result, Answers::of(result));
    INFO(faults_of(report));
    CHECK(report.ok());
    CHECK(report.reserved_bytes == 80ull * 100000 * 65536);
    for (const LayerCheck& check : report.layers) {
      CHECK(check.payload_bytes == 2 * 65536);
      CHECK(check.right_bytes == 2 * 65536);
    }
  }
}

}  // namespace kvedit::verify
