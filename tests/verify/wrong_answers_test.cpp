// Each wrong answer must be found, and its layers named: else the check is worth nothing.
#include <algorithm>
#include <functional>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <catch2/catch.hpp>

#include "golden/given.hpp"
#include "trials.hpp"

namespace kvedit::verify {
namespace {

using Ids = std::vector<std::int64_t>;
using Extents = std::vector<Extent>;
using Names = std::set<std::string>;

constexpr const char* hybrid = "qwen3.5-0.8b-flashinfer-nhd";

/// Page maps that are wrong in the same way whenever they are asked.
Answers with_extents(const Result& result, std::function<void(Extents&, const Ids&)> spoil) {
  Answers answers = Answers::of(result);
  answers.addresses = [right = answers.addresses, spoil](
                          std::span<const std::size_t> layers, std::span<const std::int64_t> ids,
                          std::span<const std::uint64_t> bases, Order order) -> Expected<Extents> {
    Expected<Extents> extents = right(layers, ids, bases, order);
    if (extents) spoil(*extents, Ids(ids.begin(), ids.end()));
    return extents;
  };
  return answers;
}

/// Other blocks than those asked for.
Answers with_ids(const Result& result, std::function<std::int64_t(std::int64_t)> other) {
  Answers answers = Answers::of(result);
  answers.addresses = [right = answers.addresses, other](
                          std::span<const std::size_t> layers, std::span<const std::int64_t> ids,
                          std::span<const std::uint64_t> bases, Order order) {
    Ids wrong(ids.begin(), ids.end());
    for (std::int64_t& id : wrong) id = other(id);
    return right(layers, wrong, bases, order);
  };
  return answers;
}

/// A view that is changed for layers of one group.
Answers with_views(
    const Result& result, std::int32_t group,
    std::function<void(View&, std::vector<std::int64_t>& shape, std::vector<std::int64_t>& stride)>
        spoil) {
  Answers answers = Answers::of(result);
  auto kept = std::make_shared<
      std::vector<std::pair<std::vector<std::int64_t>, std::vector<std::int64_t>>>>();
  kept->reserve(10000);  // spans into it must last
  answers.views = [right = answers.views, group, spoil, kept](const LayerResult& layer) {
    std::vector<View> views = right(layer);
    if (layer.group() != group) return views;
    for (View& view : views) {
      kept->emplace_back(std::vector(view.shape.begin(), view.shape.end()),
                         std::vector(view.stride.begin(), view.stride.end()));
      auto& [shape, stride] = kept->back();
      spoil(view, shape, stride);
      view.shape = shape;
      view.stride = stride;
    }
    return views;
  };
  return answers;
}

Names served(const Result& result, std::int32_t group = -1) {
  Names names;
  for (std::size_t i = 0; i < result.layer_count(); ++i)
    if (result.layer(i).pages() && (group < 0 || result.layer(i).group() == group))
      names.emplace(result.layer(i).name());
  return names;
}

}  // namespace

TEST_CASE("right answers have no fault") {
  for (const char* name :
       {hybrid, "llama-lhbnc", "kv-tuple-two-allocations", "v022-dense-kv-planes"}) {
    const Result result = result_of(name);
    const Report report = report_of(result, Answers::of(result));
    INFO(faults_of(report));
    CHECK(report.ok());
  }
}

TEST_CASE("a page map of the next block, or of one block for all") {
  for (const char* name : {hybrid, "llama-lhbnc", "v022-dense-kv-planes"}) {
    const Result result = result_of(name);
    const std::int64_t blocks = result.registration().data().num_blocks;
    for (const std::function<std::int64_t(std::int64_t)>& other :
         {std::function([=](std::int64_t id) { return id + 1 < blocks ? id + 1 : id - 1; }),
          std::function([](std::int64_t) { return std::int64_t{0}; })}) {
      const Report report = report_of(result, with_ids(result, other));
      CHECK_FALSE(report.ok());
      CHECK(faulty(result, report, "page map") == served(result));
    }
  }
}

TEST_CASE("a page map that is a byte off, for what is stored and what comes back alike") {
  const Result result = result_of("live-v0320-llama");
  const Report report = report_of(result, with_extents(result, [](Extents& extents, const Ids&) {
                                    for (Extent& each : extents) ++each.address;
                                  }));
  CHECK(faulty(result, report, "page map:") == served(result));
  CHECK(faulty(result, report, "page map, other bytes") == served(result));
}

TEST_CASE("kernel pages in another order under other ids") {
  const Result result = result_of(hybrid);
  // 17 kernel pages of 65536 bytes: the first two change places in every second block.
  const Report report =
      report_of(result, with_extents(result, [](Extents& extents, const Ids& ids) {
                  Extents cut;
                  for (const Extent& each : extents) {
                    const bool odd = ids.front() % 2 == 1;
                    if (!odd || each.length % 1114112 != 0) {
                      cut.push_back(each);
                      continue;
                    }
                    cut.push_back({each.address + 65536, 65536, each.storage});
                    cut.push_back({each.address, 65536, each.storage});
                    cut.push_back({each.address + 131072, each.length - 131072, each.storage});
                  }
                  extents = std::move(cut);
                }));
  CHECK(faulty(result, report, "page map: ") == served(result, 3));
  CHECK(report.layers[23].right_bytes == 2 * 1114112 - 4 * 65536);
}

TEST_CASE("offsets cut to 32 bits") {
  const Result result = golden::standard_host().edit(Registration(half_a_terabyte(false)));
  REQUIRE(result.ok());
  Answers answers = Answers::of(result);
  answers.addresses = [right = answers.addresses](
                          std::span<const std::size_t> layers, std::span<const std::int64_t> ids,
                          std::span<const std::uint64_t> bases, Order order) -> Expected<Extents> {
    Expected<Extents> extents = right(layers, ids, bases, order);
    if (extents)
      for (Extent& each : *extents)
        each.address = bases[0] + static_cast<std::uint32_t>(each.address - bases[0]);
    return extents;
  };
  const Report report = report_of(result, answers);
  CHECK(faulty(result, report, "page map") == served(result));
}

TEST_CASE("bytes left out, bytes too many, bytes that no storage has") {
  const Result result = result_of(hybrid);
  const std::vector<std::pair<std::string, std::function<void(Extents&, const Ids&)>>> wrong = {
      {"lists 6512639 of 6512640 bytes", [](Extents& all, const Ids&) { --all.back().length; }},
      {"lists more than", [](Extents& all, const Ids&) { all.push_back(all.front()); }},
      {"lists more than", [](Extents& all, const Ids&) { all.front().storage = 7; }},
      {"lists more than", [](Extents& all, const Ids&) { all.front().address = 1; }},
      {"lists more than", [](Extents& all, const Ids&) { all.front().length = ~0ull; }},
      {"far from these blocks",
       [](Extents& all, const Ids&) { all.front().address += std::uint64_t{1} << 50; }}};
  for (const auto& [words, spoil] : wrong) {
    Options options;
    options.blocks = 1;
    const Expected<Report> report = verify(result, options, with_extents(result, spoil));
    REQUIRE(report.has_value());
    CHECK_FALSE(report->ok());
    REQUIRE_FALSE(report->faults.empty());
    INFO(report->faults.front());
    CHECK(report->faults.front().rfind("page map of group 0: it lists", 0) == 0);
    CHECK(report->faults.front().find(words) != std::string::npos);
    CHECK(faulty(result, *report, "page map") == served(result));
  }
}

TEST_CASE("views that show less, more, or other bytes than the block has") {
  const Result result = result_of(hybrid);
  using Numbers = std::vector<std::int64_t>;
  const std::vector<std::pair<std::string, std::function<void(View&, Numbers&, Numbers&)>>> wrong =
      {{"view: 1048576 of 1114112 payload bytes of block 0",
        [](View&, Numbers& shape, Numbers&) {
          // [64, 2, 544, 1, 512]: 512 tokens only
          shape[2] = 512;
        }},
       {"view: 63 entries for 64 blocks", [](View&, Numbers& shape, Numbers&) { shape[0] = 63; }},
       {"view: 0 of 1114112 payload bytes of block 63",
        [](View&, Numbers&, Numbers& stride) { stride[0] = 0; }},
       {"view: ", [](View& view, Numbers&, Numbers&) { view.storage_offset += 1; }},
       {"view: a byte of block 0 is shown twice",
        [](View&, Numbers&, Numbers& stride) { stride[1] = 0; }}};
  for (const auto& [words, spoil] : wrong) {
    const Report report = report_of(result, with_views(result, 3, spoil));
    INFO(faults_of(report));
    CHECK_FALSE(report.ok());
    CHECK(faulty(result, report, words) == served(result, 3));
    CHECK(faulty(result, report, "page map").empty());
  }
}

TEST_CASE("views of the right bytes of the wrong block") {
  const Result result = result_of("live-v0320-llama");
  const Report report =
      report_of(result, with_views(result, 0, [](View& view, auto&, auto& stride) {
                  view.storage_offset += stride[view.block_axis];
                }));
  CHECK(faulty(result, report, "view: 0 of ") == served(result, 0));
}

}  // namespace kvedit::verify
