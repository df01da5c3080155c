#include "readback/readback.hpp"

#include <catch2/catch.hpp>

#include "layers.hpp"
#include "pipeline.hpp"

using namespace kvedit;
using namespace kvedit::testing;

namespace {

using Facts = std::vector<Fact>;

Result edited(const RegistrationData& data, Purpose purpose = Purpose::prefix,
              RecurrentRows rows = RecurrentRows::tight) {
  EditOptions options;
  options.profile = Profile::lmcache;
  options.purpose = purpose;
  options.recurrent_rows = rows;
  return Result(run_pipeline(Registration(data), options, std::make_shared<const RuleBook>()));
}

/// 4 blocks of 16 tokens, 2 heads of 16 elements: 1,024 bytes; layer `name` in group 0.
RegistrationData dense(const char* layout = "HND") {
  RegistrationData data;
  data.layout = layout;
  data.num_blocks = 4;
  data.groups.push_back({});
  data.groups[0].spec =
      spec("FullAttentionSpec", 16, 1024, {field("num_kv_heads", 2), field("head_size", 8)});
  return data;
}

void add(RegistrationData& data, const std::string& name, Tensor registered,
         std::size_t group = 0) {
  registered.storage = "storage of " + name;
  data.storages.push_back({registered.storage, 1 << 20, "cuda:0"});
  data.caches.push_back({name, {registered}, false});
  data.groups[group].layers.push_back(name);
}

RegistrationData one_layer(const char* layout, const Tensor& registered) {
  RegistrationData data = dense(layout);
  add(data, "a", registered);
  return data;
}

const Tensor heads_first = contiguous("bfloat16", {4, 2, 16, 16});
const Tensor tokens_first = contiguous("bfloat16", {4, 16, 2, 16});

/// The only problem, which is of code `profile`.
Problem problem_of(const Result& result) {
  std::string all;
  for (const Problem& problem : result.problems()) all += problem.message + "\n";
  INFO(all);
  REQUIRE(result.problems().size() == 1);
  CHECK(result.problems()[0].code == Code::profile);
  return result.problems()[0];
}

void check_error(const Result& result, const std::string& layer, const Facts& facts = {}) {
  const Problem problem = problem_of(result);
  CHECK_FALSE(result.ok());
  CHECK(problem.severity == Severity::error);
  CHECK(problem.group == 0);
  CHECK(problem.layer == layer);
  CHECK(problem.message.find(layer) != std::string::npos);
  CHECK(problem.facts == facts);
  const Outcome outcome = result.find_layer(layer)->outcome();
  CHECK((outcome == Outcome::failed || outcome == Outcome::excluded));
  CHECK(result.groups()[0].block_bytes == std::nullopt);
}

void check_warning(const Result& result, const Facts& facts) {
  const Problem problem = problem_of(result);
  CHECK(result.ok());
  CHECK(problem.severity == Severity::warning);
  CHECK(problem.facts == facts);
}

/// The same with a layer `b` that shares the cache of `a`: it is handed over as it is registered.
RegistrationData with_twin(RegistrationData data) {
  data.caches.push_back(data.caches[0]);
  data.caches[1].layer = "b";
  data.groups[0].layers.push_back("b");
  return data;
}

Attribute window(std::int64_t tokens) { return field("sliding_window", tokens); }

}  // namespace

TEST_CASE("readback: what is read is kept for each layer") {
  const Result result = edited(one_layer("HND", heads_first));
  REQUIRE(result.ok());
  CHECK(result.problems().empty());
  CHECK(result.layer(0).read_back() == ReadBack{"NL_X_NB_NH_BS_CS", 1, 4, 16, 2, 16, 1024, 1024});
  EditOptions native;
  const Result other(run_pipeline(Registration(one_layer("HND", heads_first)), native,
                                  std::make_shared<const RuleBook>()));
  CHECK_FALSE(other.layer(0).read_back());
}

TEST_CASE("readback: slots under another name are a warning") {
  // 520 elements a block, 512 of them under the axes: 16 slots do not divide them.
  RegistrationData data = dense();
  data.groups[0].spec = spec("FullAttentionSpec", 16, 1040, {field("page_size_padded", 1040)});
  add(data, "a", tensor("bfloat16", {4, 2, 16, 16}, {520, 256, 16, 1}));
  check_warning(edited(data), {{"slots", 16}, {"read_as", 1}});
}

TEST_CASE("readback: heads that would be counted as tokens are shown as slots of one") {
  for (const auto& [layout, registered] :
       {std::pair("NHD", heads_first), std::pair("BLHNC", tokens_first)}) {
    const Result result = edited(one_layer(layout, registered));
    REQUIRE(result.problems().size() == 1);  // the layout is not the strides'
    CHECK(result.problems()[0].severity == Severity::warning);
    const auto read = result.layer(0).read_back();
    REQUIRE(read);
    CHECK((read->slots == 16 && read->heads == 1 && read->width == 32));
  }
}

TEST_CASE("readback: without a layout the memory's device decides") {
  CHECK(edited(one_layer("", tokens_first)).problems().empty());
  RegistrationData on_cpu = one_layer("", heads_first);
  on_cpu.storages[0].device = "cpu";
  CHECK(edited(on_cpu).problems().empty());
  const Result cut = edited(one_layer("", heads_first));
  CHECK(cut.problems().empty());
  CHECK(cut.layer(0).read_back() == ReadBack{"NL_X_NB_BS_NH_CS", 1, 4, 16, 1, 32, 1024, 1024});
}

TEST_CASE("readback: heads before blocks are refused as a whole") {
  for (const char* layout : {"LHBNC", "BHLNC"}) {
    const Problem problem = problem_of(edited(one_layer(layout, heads_first)));
    CHECK(problem.severity == Severity::error);
    CHECK(problem.group == -1);
    CHECK(problem.facts == Facts{{"layout", layout}});
  }
}

TEST_CASE("readback: the first layer's step is taken for all of equal shape") {
  RegistrationData data = dense();
  add(data, "a", heads_first);
  add(data, "b", tensor("bfloat16", {4, 2, 16, 16}, {1024, 256, 16, 1}));
  data.placements.push_back({"storage of b", {"b"}, 0, 0, 2048});
  check_error(edited(data), "b", {{"block_stride", 2048}, {"read_as", 1024}});

  // Registered the other way round it is the other layer that is moved wrongly.
  std::swap(data.caches[0], data.caches[1]);
  check_error(edited(data), "a", {{"block_stride", 1024}, {"read_as", 2048}});
}

TEST_CASE("readback: two blocks of two halves are two planes to LMCache") {
  RegistrationData data = dense("NHD");
  data.num_blocks = 2;
  add(data, "a", contiguous("bfloat16", {2, 2, 16, 2, 8}));
  data.placements.push_back({"storage of a", {"a"}, 0, 0, 1024});
  CHECK(edited(data).layer(0).read_back() ==
        ReadBack{"NL_X_NB_BS_NH_CS", 1, 2, 16, 1, 32, 1024, 1024});
  check_error(edited(with_twin(data)), "b",
              {{"block_bytes", 1024}, {"read_bytes", 1024}, {"blocks", 2}, {"read_blocks", 2}});
}

TEST_CASE("readback: halves with other bytes between blocks would be refused") {
  RegistrationData data =
      one_layer("NHD", tensor("bfloat16", {4, 2, 16, 2, 8}, {700, 256, 16, 8, 1}));
  data.placements.push_back({"storage of a", {"a"}, 0, 0, 1400});
  CHECK(edited(data).layer(0).read_back() ==
        ReadBack{"NL_X_NB_BS_NH_CS", 1, 4, 16, 1, 32, 1024, 1400});
  check_error(edited(with_twin(data)), "b", {{"stride", 700}, {"tight", 512}});
}

TEST_CASE("readback: axes that it has no format for") {
  RegistrationData data = dense();
  data.groups[0].spec = spec("FullAttentionSpec", 16, 1024);
  add(data, "a", contiguous("bfloat16", {4, 512}));
  data.placements.push_back({"storage of a", {"a"}, 0, 0, 1024});
  CHECK(edited(data).layer(0).read_back() ==
        ReadBack{"NL_X_NB_NH_BS_CS", 1, 4, 16, 1, 32, 1024, 1024});
  check_error(edited(with_twin(data)), "b", {{"rank", 2}});
}

TEST_CASE("readback: gaps within a block are refused, and several tensors") {
  RegistrationData data = dense();
  data.groups[0].spec =
      spec("FullAttentionSpec", 16, 2048,
           {field("page_size_padded", 2048), field("unpadded_page_size_bytes", 1024),
            field("num_kv_heads", 2), field("head_size", 8)});
  add(data, "a", tensor("bfloat16", {4, 2, 16, 16}, {1024, 512, 16, 1}));
  check_error(edited(data), "a");

  RegistrationData tuple = dense();
  add(tuple, "a", contiguous("bfloat16", {4, 16, 2, 8}));
  tuple.caches[0].tensors.push_back(contiguous("bfloat16", {4, 16, 2, 8}, 0, "values"));
  tuple.caches[0].is_list = true;
  tuple.storages.push_back({"values", 1 << 20, "cuda:0"});
  check_error(edited(tuple), "a");
  for (Storage& storage : tuple.storages) storage.device = "npu:0";
  const Result result = edited(tuple);
  REQUIRE(result.ok());
  CHECK(result.layer(0).read_back() ==
        ReadBack{"NL_X_TWO_X_NB_BS_NH_HS", 2, 4, 16, 2, 8, 1024, 512});
}

TEST_CASE("readback: several states for a token are a slot; what tokens do not divide is refused") {
  const auto with = [](std::int64_t tokens) {
    RegistrationData data = dense();
    data.groups[0].spec =
        spec("FullAttentionSpec", tokens, 1024,
             {field("num_kv_heads", 2), field("head_size", 8), field("num_states", 16)});
    add(data, "a", heads_first);
    return data;
  };
  check_warning(edited(with(4)), {{"slots", 16}, {"read_as", 4}});
  check_error(edited(with(6)), "a", {{"slots", 16}, {"tokens_per_block", 6}});
}

TEST_CASE("readback: a window must hold whole blocks where it is shorter than a chunk") {
  const auto with = [](std::int64_t tokens) {
    RegistrationData data = one_layer("HND", heads_first);
    data.groups[0].spec = spec("SlidingWindowSpec", 16, 1024,
                               {field("num_kv_heads", 2), field("head_size", 8), window(tokens)});
    return data;
  };
  const auto facts = [](std::int64_t tokens) {
    return Facts{{"window", tokens}, {"tokens_per_block", 16}, {"chunk_tokens", 16}};
  };
  CHECK(edited(with(16)).problems().empty());
  CHECK(edited(with(64)).problems().empty());
  check_error(edited(with(8)), "a", facts(8));
  check_warning(edited(with(24)), facts(24));  // chunks above it are refused, smaller ones are not

  // Another group raises the smallest chunk to 48.
  RegistrationData two = with(24);
  two.groups.push_back({});
  two.groups[1].spec =
      spec("FullAttentionSpec", 48, 3072, {field("num_kv_heads", 2), field("head_size", 8)});
  add(two, "b", contiguous("bfloat16", {4, 2, 48, 16}), 1);
  check_error(edited(two), "a", {{"window", 24}, {"tokens_per_block", 16}, {"chunk_tokens", 48}});
}

TEST_CASE("readback: layers read alike in a group need one window") {
  RegistrationData data = dense();
  data.groups[0].spec.type = "UniformTypeKVCacheSpecs";
  for (const auto& [name, tokens] : {std::pair("a", 32), std::pair("b", 64)}) {
    add(data, name, heads_first);
    data.groups[0].layer_specs.emplace(
        name, spec("SlidingWindowSpec", 16, 1024,
                   {field("num_kv_heads", 2), field("head_size", 8), window(tokens)}));
  }
  check_error(edited(data), "b", {{"window", 64}, {"other", 32}});
}

TEST_CASE("readback: under context parallelism every attention block counts dcp times") {
  RegistrationData data = one_layer("HND", heads_first);
  data.parallel.dcp = 2;
  check_warning(edited(data), {{"tokens_per_block", 16}, {"read_as", 32}});
  data.groups[0].spec.dcp_sharded = false;
  check_error(edited(data), "a", {{"tokens_per_block", 16}, {"read_as", 32}});
}

TEST_CASE("readback: groups LMCache would move and should not") {
  RegistrationData data = one_layer("HND", heads_first);
  data.groups[0].host_resident = true;
  check_error(edited(data), "a");
  data.groups[0].host_resident = false;
  data.groups[0].enable_kv_transfer = false;
  check_error(edited(data), "a");
}

TEST_CASE("readback: a layer without a cache of its own is asked for all the same") {
  RegistrationData data = one_layer("HND", heads_first);
  data.groups[0].spec.type = "UniformTypeKVCacheSpecs";
  for (const char* name : {"a", "hot"}) {
    Spec leaf =
        spec("FullAttentionSpec", 16, 1024, {field("num_kv_heads", 2), field("head_size", 8)});
    leaf.has_layer_views = std::string(name) == "a";
    data.groups[0].layer_specs.emplace(name, leaf);
  }
  data.groups[0].layers.push_back("hot");
  check_error(edited(data), "hot");
}

TEST_CASE("readback: a layer that shares another's cache is read as registered") {
  RegistrationData data = one_layer("HND", heads_first);
  data.caches.push_back(data.caches[0]);
  data.caches[1].layer = "b";
  data.groups[0].layers.push_back("b");
  data.placements.push_back({"storage of a", {"a"}, 0, 0, 1024});
  const Result result = edited(data);
  CHECK(result.ok());
  CHECK(result.problems().empty());
  CHECK(result.layer(1).outcome() == Outcome::excluded);
  CHECK_FALSE(result.layer(1).read_back());
}

TEST_CASE("readback: scratch groups are left out, and a transfer needs them") {
  RegistrationData data = one_layer("HND", heads_first);
  data.groups.push_back(data.groups[0]);
  data.groups[1].layers.clear();
  data.groups[1].spec.prefix_cacheable = false;
  add(data, "ring", contiguous("bfloat16", {4, 2, 16, 16}), 1);
  const Result prefix = edited(data);
  CHECK(prefix.ok());
  CHECK(prefix.layer(1).outcome() == Outcome::scratch);
  CHECK_FALSE(prefix.layer(1).read_back());
  const Problem problem = problem_of(edited(data, Purpose::transfer));
  CHECK(problem.severity == Severity::error);
  CHECK(problem.group == 1);
  CHECK(problem.message.find("ring") != std::string::npos);

  // It wraps what it leaves out all the same.
  data.groups[1].spec =
      spec("FullAttentionSpec", 16, 2048,
           {field("page_size_padded", 2048), field("unpadded_page_size_bytes", 1024),
            field("num_kv_heads", 2), field("head_size", 8)});
  data.groups[1].spec.prefix_cacheable = false;
  data.caches[1].tensors[0] =
      tensor("bfloat16", {4, 2, 16, 16}, {1024, 512, 16, 1}, 0, "storage of ring");
  CHECK(problem_of(edited(data)).layer == "ring");
}

TEST_CASE("readback: excluded caches that mean nothing are refused, not read") {
  RegistrationData data = one_layer("HND", heads_first);
  data.groups.push_back(data.groups[0]);
  data.groups[1].layers.clear();
  data.groups[1].spec.prefix_cacheable = false;
  data.groups[1].spec.has_layer_views = false;
  add(data, "hot", heads_first, 1);
  Tensor& hot = data.caches[1].tensors[0];
  for (const Numbers& stride : {Numbers{}, Numbers{1}, Numbers{0, 0, 0, 0}, Numbers{-1, 2, 3, 4}}) {
    hot.stride = stride;
    CHECK(problem_of(edited(data)).layer == "hot");
  }
  hot.shape = {};
  hot.stride = {};
  CHECK(problem_of(edited(data)).layer == "hot");
  data.caches[1].tensors.clear();
  CHECK(edited(data).ok());
}

TEST_CASE("readback: who is named by an error is failed, and nobody else") {
  RegistrationData data = one_layer("HND", heads_first);
  add(data, "b", contiguous("bfloat16", {4, 2, 16, 16}));
  data.groups.push_back(data.groups[0]);
  data.groups[1].layers.clear();
  data.groups[1].host_resident = true;
  add(data, "c", contiguous("bfloat16", {4, 2, 16, 16}), 1);
  add(data, "d", contiguous("bfloat16", {4, 2, 16, 16}), 1);
  const Result of_group = edited(data);
  CHECK_FALSE(of_group.ok());
  for (const char* name : {"a", "b"})
    CHECK(of_group.find_layer(name)->outcome() == Outcome::passed);
  for (const char* name : {"c", "d"})
    CHECK(of_group.find_layer(name)->outcome() == Outcome::failed);

  data.groups[1].host_resident = false;
  data.caches[1].tensors[0] =
      tensor("bfloat16", {4, 2, 16, 16}, {1024, 512, 16, 1}, 0, "storage of b");
  const Result of_layer = edited(data);
  CHECK_FALSE(of_layer.ok());
  CHECK(of_layer.find_layer("a")->outcome() == Outcome::passed);
  CHECK(of_layer.find_layer("b")->outcome() == Outcome::failed);
}

TEST_CASE("readback: nothing to move is refused") {
  RegistrationData data = one_layer("HND", heads_first);
  data.groups[0].spec.prefix_cacheable = false;
  CHECK(problem_of(edited(data)).severity == Severity::error);
}

TEST_CASE("readback: what a transfer forgives, LMCache does not") {
  RegistrationData states_of_none = dense();
  states_of_none.groups[0].spec = states(16, 1024, {256});
  states_of_none.groups[0].spec.mamba_cache_mode = "none";
  add(states_of_none, "a", contiguous("float32", {4, 1, 1, 256}));
  RegistrationData cross = one_layer("HND", heads_first);
  cross.groups[0].spec.kind = Kind::cross_attention;
  for (const RegistrationData& data : {states_of_none, cross}) {
    const Result moved = edited(data, Purpose::transfer);
    CHECK_FALSE(moved.ok());
    REQUIRE(moved.problems().size() == 2);
    CHECK(moved.problems()[0].code == Code::profile);
    CHECK(moved.problems()[0].severity == Severity::error);
    CHECK(moved.problems()[1].severity == Severity::warning);
    // For a prefix validation has said it.
    const Result found = edited(data);
    REQUIRE(found.problems().size() == 1);
    CHECK(found.problems()[0].code != Code::profile);
  }
}

TEST_CASE("readback: whole pages are asked for where only dense tensors pass") {
  const RegistrationData data =
      one_layer("HND", tensor("bfloat16", {4, 2, 16, 16}, {700, 256, 16, 1}));
  CHECK(edited(data).ok());
  check_error(edited(data, Purpose::prefix, RecurrentRows::page), "a");

  RegistrationData beside = one_layer("HND", heads_first);
  beside.groups.push_back(beside.groups[0]);
  beside.groups[1].layers.clear();
  beside.groups[1].spec.prefix_cacheable = false;
  add(beside, "ring", tensor("bfloat16", {4, 2, 16, 16}, {700, 256, 16, 1}), 1);
  CHECK(edited(beside).ok());
  CHECK(problem_of(edited(beside, Purpose::prefix, RecurrentRows::page)).layer == "ring");
}
