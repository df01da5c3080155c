#include <atomic>
#include <catch2/catch.hpp>
#include <thread>

#include "open.hpp"
#include "pack_tests.hpp"

namespace kvedit::test {
namespace {

RuleInfo info(const char* pack, const char* id, std::int32_t priority) {
  return {id, pack, "1", "", priority, ""};
}

std::vector<std::string> file_names(const LoadedPacks& loaded) {
  std::vector<std::string> names;
  for (const PackInfo& each : loaded.infos) names.push_back(fs::path(each.path).filename());
  return names;
}

}  // namespace

TEST_CASE("a pack in plain C is loaded and says what it is") {
  const LoadedPacks loaded = load(only_files({fixture("good")}));
  CHECK(loaded.problems.empty());
  REQUIRE(loaded.infos.size() == 1);
  const PackInfo& pack = loaded.infos[0];
  CHECK(pack.state == PackInfo::State::loaded);
  CHECK(pack.reason.empty());
  CHECK(pack.id == "test.good");
  CHECK(pack.version == "1.2.3");
  CHECK(pack.vendor == "Fixtures");
  CHECK(pack.rules == std::vector<std::string>{"test.good-rule"});
  REQUIRE(loaded.rules.size() == 1);
  const RuleInfo& rule = loaded.rules[0].info;
  CHECK(rule.pack == "test.good");
  CHECK(rule.version == "1.2.3");
  CHECK(rule.tier == "vendor");
  CHECK(rule.priority == 7);
  CHECK(rule.sha256 == pack.sha256);
}

TEST_CASE("rules and validators of packs become a book") {
  const Expected<OpenedPacks> opened =
      open_packs(only_files({fixture("fallback"), fixture("good"), fixture("no_rules")}));
  REQUIRE(opened);
  REQUIRE(opened->book.rules.size() == 2);
  REQUIRE(opened->book.infos.size() == 2);
  for (std::size_t i = 0; i < 2; ++i)
    CHECK(opened->book.rules[i]->info().id == opened->book.infos[i].id);
  CHECK(opened->book.infos[0].id == "test.good-rule");
  REQUIRE(opened->book.validators.size() == 1);
  CHECK(opened->book.validators[0]->pack() == "test.no-rules");
  CHECK(opened->infos.size() == 3);

  const RowLayer layer;
  const Validator& validator = *opened->book.validators[0];
  CHECK(validator.validate(std::span(&layer.facts, 1), 100).verdict == Verdict::no_match);
  const Answer answer = validator.validate(std::span(&layer.facts, 1), 101);
  CHECK(answer.verdict == Verdict::refuse);
  CHECK(answer.reason == "more than 100 layers");
}

TEST_CASE("a newer minor is no reason to refuse") {
  CHECK(load(only_files({fixture("newer_minor")})).infos[0].state == PackInfo::State::loaded);
}

TEST_CASE("the order is tier, priority, pack id, rule id") {
  std::vector<LoadedRule> rules = {
      {0, 0, 3, info("a.a", "a.a", INT32_MAX)}, {0, 0, 2, info("a.a", "a.b", 5)},
      {0, 0, 1, info("b.b", "b.z", 5)},         {0, 0, 1, info("b.b", "b.a", 5)},
      {0, 0, 1, info("a.a", "z.z", 5)},         {0, 0, 1, info("a.a", "a.m", INT32_MIN)},
      {0, 0, 1, info("z.z", "z.a", 6)},
  };
  put_in_order(rules);
  std::vector<std::string> ids;
  for (const LoadedRule& rule : rules) ids.push_back(rule.info.id);
  CHECK(ids == std::vector<std::string>{"z.a", "z.z", "b.a", "b.z", "a.m", "a.b", "a.a"});
}

TEST_CASE("the order in which a directory lists its files does not matter") {
  const std::vector<std::string> names = {"good", "same_rule", "refuses", "fallback", "echo"};
  const TemporaryDirectory forwards, backwards;
  for (auto name = names.begin(); name != names.end(); ++name) forwards.add(*name);
  for (auto name = names.rbegin(); name != names.rend(); ++name) backwards.add(*name);
  const LoadedPacks a = load(only_directories({forwards.path()}));
  const LoadedPacks b = load(only_directories({backwards.path()}));
  CHECK(file_names(a) == std::vector<std::string>{"echo.so", "fallback.so", "good.so", "refuses.so",
                                                  "same_rule.so"});
  CHECK(file_names(a) == file_names(b));
  CHECK(rule_ids(a) ==
        std::vector<std::string>{"test.good-rule", "test.echo-rule", "test.fallback-rule"});
  CHECK(rule_ids(a) == rule_ids(b));
  CHECK(a.problems.size() == 2);
  CHECK(a.problems == b.problems);  // directories differ, reports must not
}

TEST_CASE("two hosts of one process share a loaded pack") {
  const LoadedPacks first = load(only_files({fixture("good")}));
  const LoadedPacks second = load(only_files({fixture("good")}));
  REQUIRE(first.packs.size() == 1);
  REQUIRE(second.packs.size() == 1);
  CHECK(first.packs[0].tables.rules == second.packs[0].tables.rules);
}

TEST_CASE("eight threads load the same packs") {
  const TemporaryDirectory directory;
  for (const char* name : {"good", "echo", "refuses", "no_rules", "throws"}) directory.add(name);
  const HostOptions options = only_directories({directory.path()});
  std::vector<LoadedPacks> loaded(8);
  std::atomic<int> failures{0};
  {
    std::vector<std::jthread> threads;
    for (LoadedPacks& each : loaded)
      threads.emplace_back([&] {
        Expected<LoadedPacks> result = load_packs(options);
        if (result)
          each = *std::move(result);
        else
          ++failures;
      });
  }
  REQUIRE(failures == 0);
  for (const LoadedPacks& each : loaded) {
    CHECK(rule_ids(each) ==
          std::vector<std::string>{"test.good-rule", "test.echo-rule", "test.throws-rule"});
    CHECK(each.problems == loaded[0].problems);
    REQUIRE(each.packs.size() == 4);
    for (std::size_t i = 0; i < 4; ++i)
      CHECK(each.packs[i].tables.rules == loaded[0].packs[i].tables.rules);
  }
}

TEST_CASE("a file that changed after it was loaded is refused") {
  const TemporaryDirectory directory;
  const fs::path file = directory.add("good", "pack.so");
  REQUIRE(load(only_files({file})).packs.size() == 1);
  fs::rename(directory.add("echo"), file);
  const LoadedPacks loaded = load(only_files({file}));
  CHECK(loaded.packs.empty());
  CHECK_THAT(loaded.infos[0].reason, Catch::Contains("changed after this process loaded it"));
}

TEST_CASE("links lead to packs, and a file is looked at once") {
  const TemporaryDirectory store, rules;
  const fs::path real = store.add("good", "good-1.so");
  fs::create_symlink(real, rules.path() / "a.so");
  fs::create_symlink(real, rules.path() / "b.so");
  fs::create_symlink(store.path() / "absent.so", rules.path() / "c.so");
  const LoadedPacks loaded = load(only_directories({rules.path()}));
  REQUIRE(loaded.infos.size() == 3);
  CHECK(loaded.infos[0].state == PackInfo::State::loaded);
  CHECK(loaded.infos[0].path == (rules.path() / "a.so").string());
  CHECK(loaded.infos[1].state == PackInfo::State::skipped);
  CHECK_THAT(loaded.infos[1].reason, Catch::Contains(loaded.infos[0].path));
  CHECK(loaded.infos[2].state == PackInfo::State::skipped);
  CHECK(loaded.problems.empty());
}

}  // namespace kvedit::test
