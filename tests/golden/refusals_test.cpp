#include <catch2/catch.hpp>

#include "given.hpp"

namespace kvedit::golden {
namespace {

std::map<std::string, std::string> facts_of(const Problem& problem) {
  std::map<std::string, std::string> facts;
  for (const Fact& fact : problem.facts)
    if (const auto* number = std::get_if<std::int64_t>(&fact.value))
      facts[fact.name] = std::to_string(*number);
    else
      facts[fact.name] = std::get<std::string>(fact.value);
  return facts;
}

void check_problem(const Problem& problem, const ExpectedProblem& expected) {
  INFO(problem.message);
  CHECK(std::string(to_text(problem.code)) == expected.code);
  CHECK(problem.group == expected.group);
  CHECK(problem.layer == expected.layer);
  CHECK(facts_of(problem) == expected.facts);
  for (const std::string& words : expected.says) {
    INFO("wanted: " << words);
    CHECK(problem.message.find(words) != std::string::npos);
  }
  if (!expected.layer.empty()) CHECK(problem.message.find(expected.layer) != std::string::npos);
  for (const auto& [name, value] : expected.facts)
    CHECK(problem.message.find(value) != std::string::npos);  // every number is in the message
}

}  // namespace

TEST_CASE("a refusal names layer, group, numbers and remedy exactly as the case states") {
  std::size_t stated = 0;
  for (const std::string& name : registration_names()) {
    const ExpectedReport expected = expected_report(name);
    if (expected.problems.empty()) continue;
    INFO(name);
    const Result result = standard_host().edit(Registration(given_registration(name)));
    INFO(problems_of(result));
    REQUIRE(result.problems().size() == expected.problems.size());
    for (std::size_t i = 0; i < expected.problems.size(); ++i)
      check_problem(result.problems()[i], expected.problems[i]);
    ++stated;
  }
  CHECK(stated >= 25);
}

TEST_CASE("profile bytes refuses a page of several runs and says how many") {
  const std::pair<const char*, std::int64_t> pages[] = {
      {"field/planes-of-flat-blocks", 2},
      {"field/arena-heads-before-blocks", 4},
      {"field/planes-in-kernel-pages-k33", 2},
      {"field/keys-values-and-scales-in-four-tensors", 4},
      {"field/states-and-keys-in-pools-of-planes", 2},
  };
  EditOptions options;
  options.profile = Profile::bytes;
  for (const auto& [name, runs] : pages) {
    INFO(name);
    const Result result = standard_host().edit(Registration(given_registration(name)), options);
    REQUIRE_FALSE(result.ok());
    const Problem& problem = result.problems()[0];
    check_problem(problem, {"profile",
                            problem.layer,
                            problem.group,
                            {{"runs", std::to_string(runs)}},
                            {"use profile native, or the page map"}});
  }
}

}  // namespace kvedit::golden
