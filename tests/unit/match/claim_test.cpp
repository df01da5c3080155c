#include "match/claim.hpp"

#include <catch2/catch.hpp>

#include "layers.hpp"
#include "match/classes.hpp"

using namespace kvedit;
using namespace kvedit::testing;

namespace {

struct Asked {
  Layer layer{spec("FullAttentionSpec", 16, 1024), {contiguous("int8", {4, 1024})}, 4};
  RuleBook book;
  LayerClass of;

  const LayerClass& run() {
    of.facts = layer.facts();
    match::claim(of, book);
    return of;
  }
};

Answer match_with(std::int64_t offset) {
  return {Verdict::match, "mine", {{{0, offset, 1, {}}}, false}, {}};
}

}  // namespace

TEST_CASE("match: rules are asked in order, the first that matches wins, no other is asked") {
  Asked asked;
  int later = 0;
  add_rule(asked.book, "a", [](const LayerFacts&) { return no_match("not mine"); });
  add_rule(asked.book, "b", [](const LayerFacts&) { return match_with(64); });
  add_rule(asked.book, "c", [&](const LayerFacts&) { return ++later, match_with(1); });
  const LayerClass& of = asked.run();
  CHECK(of.rule == 1);
  CHECK_FALSE(of.failure);
  REQUIRE(of.plan.boxes.size() == 1);
  CHECK(of.plan.boxes[0].offset == 64);
  CHECK(later == 0);
  REQUIRE(of.tried.size() == 2);
  CHECK(of.tried[0].rule == 0);
  CHECK(of.tried[0].verdict == Verdict::no_match);
  CHECK(of.tried[0].reason == "not mine");
  CHECK(of.tried[1].verdict == Verdict::match);
  CHECK(of.tried[1].reason == "mine");
}

TEST_CASE("match: all rules are listed when none matches") {
  Asked asked;
  for (const char* id : {"a", "b", "c"})
    add_rule(asked.book, id, [id](const LayerFacts&) { return no_match(id); });
  const LayerClass& of = asked.run();
  CHECK(of.rule == -1);
  CHECK_FALSE(of.failure);
  REQUIRE(of.tried.size() == 3);
  CHECK(of.tried[2].reason == "c");
}

TEST_CASE("match: the rule that decides is asked twice, the others once") {
  Asked asked;
  int before = 0, winner = 0;
  add_rule(asked.book, "a", [&](const LayerFacts&) { return ++before, no_match("no"); });
  add_rule(asked.book, "b", [&](const LayerFacts&) { return ++winner, match_with(0); });
  asked.run();
  CHECK(before == 1);
  CHECK(winner == 2);
}

TEST_CASE("match: another answer the second time is misbehaviour, whatever differs") {
  const auto second = GENERATE(0, 1, 2, 3, 4);
  Asked asked;
  int calls = 0;
  add_rule(asked.book, "fickle", [&](const LayerFacts&) {
    Answer answer = match_with(0);
    if (++calls == 1) return answer;
    if (second == 0) answer.plan.boxes[0].offset = 1;
    if (second == 1) answer.reason = "mine again";
    if (second == 2) return no_match("no longer mine");
    if (second == 3) answer.plan.declared = true;
    if (second == 4) answer.facts.push_back({"kernel_pages", std::int64_t{1}});
    return answer;
  });
  const LayerClass& of = asked.run();
  REQUIRE(of.failure);
  CHECK(of.failure->code == Code::rule_misbehaved);
  CHECK(of.rule == 0);
}

TEST_CASE("match: a refusal is the rule's own text, and no further rule is asked") {
  Asked asked;
  int later = 0;
  add_rule(asked.book, "a", [](const LayerFacts&) {
    return Answer{Verdict::refuse, "17 is not 16", {}, {{"have", std::int64_t{17}}}};
  });
  add_rule(asked.book, "b", [&](const LayerFacts&) { return ++later, match_with(0); });
  const LayerClass& of = asked.run();
  REQUIRE(of.failure);
  CHECK(of.failure->code == Code::rule_failed);
  CHECK(of.failure->message.find("17 is not 16") != std::string::npos);
  CHECK(of.failure->facts == std::vector<Fact>{{"have", std::int64_t{17}}});
  CHECK(of.rule == 0);
  CHECK(later == 0);
}

TEST_CASE("match: a rule that fails to answer has misbehaved, and no further rule is asked") {
  Asked asked;
  int later = 0;
  add_rule(asked.book, "a", [](const LayerFacts&) {
    return Answer{Verdict::error, "it threw: out of range", {}, {}};
  });
  add_rule(asked.book, "b", [&](const LayerFacts&) { return ++later, match_with(0); });
  const LayerClass& of = asked.run();
  REQUIRE(of.failure);
  CHECK(of.failure->code == Code::rule_misbehaved);
  CHECK(of.failure->message.find("it threw: out of range") != std::string::npos);
  REQUIRE(of.tried.size() == 1);
  CHECK(of.tried[0].verdict == Verdict::error);
  CHECK(later == 0);
}

TEST_CASE("match: without rules nothing is asked") {
  Asked asked;
  CHECK(asked.run().rule == -1);
  CHECK(asked.of.tried.empty());
}

TEST_CASE("match: layers with equal facts and placement stride are one class") {
  const Layer a{spec("FullAttentionSpec", 16, 1024), {contiguous("int8", {4, 1024})}, 4};
  const Layer b = a;
  const auto key = [](const Layer& layer, std::int64_t blocks, std::int64_t placed) {
    return match::ClassKey{&layer.spec, layer.tensors.data(), &layer.group, blocks, placed};
  };
  match::Classes classes;
  CHECK(classes.classify(key(a, 4, -1), 0) == 0);
  CHECK(classes.classify(key(b, 4, -1), 1) == 1);
  CHECK(classes.classify(key(a, 4, -1), 2) == 0);
  CHECK(classes.classify(key(a, 4, 1024), 2) == 2);
  CHECK(classes.classify(key(a, 3, -1), 3) == 3);
  CHECK(classes.classify(key(b, 4, -1), 4) == 1);
  CHECK(classes.classify(key(a, 3, -1), 4) == 3);
}

TEST_CASE("match: a second answer that differs in the plan alone is told as such") {
  Asked asked;
  std::int64_t offset = 0;
  add_rule(asked.book, "a", [&](const LayerFacts&) { return match_with(offset += 64); });
  const LayerClass& of = asked.run();
  REQUIRE(of.failure);
  CHECK(of.failure->code == Code::rule_misbehaved);
  CHECK(of.failure->message.find("another plan") != std::string::npos);
}
