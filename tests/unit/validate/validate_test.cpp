#include "validate/validate.hpp"

#include <functional>

#include <catch2/catch.hpp>

#include "layers.hpp"

using namespace kvedit;
using namespace kvedit::testing;

namespace {

class SayingValidator : public Validator {
 public:
  using Say = std::function<Answer(std::span<const LayerFacts>, std::int64_t)>;

  SayingValidator(std::string pack, Say say) : pack_(std::move(pack)), say_(std::move(say)) {}
  const std::string& pack() const override { return pack_; }
  Answer validate(std::span<const LayerFacts> leaves, std::int64_t layers) const override {
    return say_(leaves, layers);
  }

 private:
  std::string pack_;
  Say say_;
};

Spec mamba(const char* mode) {
  return spec("MambaSpec", 16, 1024, {field("mamba_cache_mode", mode)});
}

/// A group of one leaf for each spec, or an empty one of the wrapper alone.
struct Judged {
  Group group;
  std::vector<Layer> leaves;
  std::vector<std::string_view> names = {"first", "second", "third"};
  RuleBook book;

  explicit Judged(std::vector<Spec> specs) {
    for (Spec& each : specs) leaves.push_back({std::move(each), {}, 4});
    group.spec = leaves.front().spec;
  }

  std::vector<Problem> run(Purpose purpose = Purpose::prefix, bool empty = false) const {
    validate::GroupFacts facts;
    facts.index = 5;
    facts.group = &group;
    if (!empty) facts.layers.assign(names.begin(), names.end());
    for (const Layer& leaf : leaves) facts.leaves.push_back(leaf.facts());
    return validate::validate(facts, purpose, book);
  }
};

}  // namespace

TEST_CASE("validate: attention and recurrent groups with a mode have no problem") {
  CHECK(Judged({spec("FullAttentionSpec", 16, 1024)}).run().empty());
  CHECK(Judged({mamba("align")}).run().empty());
  CHECK(Judged({mamba("all")}).run().empty());
}

TEST_CASE("validate: cross attention, as the group's own kind or that of a wrapped leaf") {
  const auto of_group = Judged({spec("CrossAttentionSpec", 16, 1024)}).run();
  REQUIRE(of_group.size() == 1);
  CHECK(of_group[0].code == Code::cross_attention);
  CHECK(of_group[0].severity == Severity::error);
  CHECK(of_group[0].group == 5);
  CHECK(of_group[0].layer == "first");
  CHECK(of_group[0].message.find("group 5 (3 layers") != std::string::npos);

  Judged wrapped({spec("FullAttentionSpec", 16, 1024), spec("CrossAttentionSpec", 16, 1024)});
  wrapped.group.spec = spec("UniformTypeKVCacheSpecs", 16, 2048);
  const auto of_leaf = wrapped.run();
  REQUIRE(of_leaf.size() == 1);
  CHECK(of_leaf[0].code == Code::cross_attention);
}

TEST_CASE("validate: Mamba without a reusable snapshot, a missing mode counts as none") {
  for (const Spec& each : {mamba("none"), mamba("weird"), spec("MambaSpec", 16, 1024)}) {
    const auto problems = Judged({each}).run();
    REQUIRE(problems.size() == 1);
    CHECK(problems[0].code == Code::mamba_cache_mode);
    CHECK(problems[0].severity == Severity::error);
    CHECK(problems[0].message.find(each.mamba_cache_mode) != std::string::npos);
  }
  Judged wrapped({mamba("align"), mamba("none")});
  wrapped.group.spec = spec("UniformTypeKVCacheSpecs", 16, 2048);
  REQUIRE(wrapped.run().size() == 1);
  CHECK(wrapped.run()[0].code == Code::mamba_cache_mode);
}

TEST_CASE("validate: both are warnings when a running request moves") {
  Judged both({mamba("none"), spec("CrossAttentionSpec", 16, 1024)});
  both.group.spec = spec("UniformTypeKVCacheSpecs", 16, 2048);
  for (const Purpose purpose : {Purpose::prefix, Purpose::transfer}) {
    const auto problems = both.run(purpose);
    REQUIRE(problems.size() == 2);
    for (const Problem& problem : problems)
      CHECK((problem.severity == Severity::warning) == (purpose == Purpose::transfer));
  }
}

TEST_CASE("validate: an empty group is judged by its own spec") {
  const auto problems = Judged({mamba("none")}).run(Purpose::prefix, true);
  REQUIRE(problems.size() == 1);
  CHECK(problems[0].layer.empty());
  CHECK(problems[0].message.find("group 5 (no layers)") != std::string::npos);
}

TEST_CASE("validate: every validator is asked; refusal and failure keep the pack's text") {
  Judged judged({spec("FullAttentionSpec", 16, 1024), spec("FullAttentionSpec", 32, 2048)});
  const auto add = [&](const char* pack, SayingValidator::Say say) {
    judged.book.validators.push_back(std::make_shared<SayingValidator>(pack, std::move(say)));
  };
  std::size_t leaves = 0;
  std::int64_t layers = 0;
  add("a.pack", [&](auto given, std::int64_t count) {
    leaves = given.size(), layers = count;
    return no_match("");
  });
  add("b.pack", [](auto, std::int64_t) {
    return Answer{Verdict::refuse, "no sinks here", {}, {{"sinks", std::int64_t{4}}}};
  });
  add("c.pack", [](auto, std::int64_t) { return Answer{Verdict::error, "it threw", {}, {}}; });
  const auto problems = judged.run(Purpose::transfer);
  CHECK(leaves == 2);
  CHECK(layers == 3);
  REQUIRE(problems.size() == 2);
  CHECK(problems[0].code == Code::unsupported_spec);
  CHECK(problems[0].severity == Severity::error);
  CHECK(problems[0].message.find("b.pack") != std::string::npos);
  CHECK(problems[0].message.find("no sinks here") != std::string::npos);
  CHECK(problems[0].facts == std::vector<Fact>{{"sinks", std::int64_t{4}}});
  CHECK(problems[1].code == Code::rule_misbehaved);
  CHECK(problems[1].message.find("c.pack") != std::string::npos);
}

TEST_CASE("validate: cross attention does not hide what a validator says") {
  Judged judged({spec("CrossAttentionSpec", 16, 1024)});
  judged.book.validators.push_back(
      std::make_shared<SayingValidator>("a.pack", [](auto, std::int64_t) {
        return Answer{Verdict::refuse, "no", {}, {}};
      }));
  CHECK(judged.run().size() == 2);
}
