// One fixture for each way in which a pack can be wrong, loaded by name.

#include <catch2/catch.hpp>

#include "pack_tests.hpp"

namespace kvedit::test {
namespace {

struct Refused {
  const char* fixture;
  const char* id;  // as far as it can be read
  const char* reason;
};

const Refused refused[] = {
    {"no_entry", "test.no-entry", "it does not export kvedit_rule_pack_v1"},
    {"refuses", "test.refuses", "it refused this kvedit, saying: needs a host with test.moon/1"},
    {"refuses_silently", "test.refuses-silently", "it refused this kvedit without a text"},
    {"wrong_magic", "", "its descriptor does not start with kvedit.rulepack"},
    {"newer_major", "", "it was built for rule ABI 2, this kvedit has 1; build it for that one"},
    {"cut_short", "", "its descriptor is cut short: 472 bytes of which the section has"},
    {"differs", "test.differs", "its descriptor in memory differs from the one in its file"},
    {"null_descriptor", "test.null-descriptor",
     "its table does not point to a descriptor of 472 bytes in its own file"},
    {"null_answer", "test.null-answer", "its table has no function answer"},
    {"small_table", "test.small-table", "its table has 16 bytes; 24 are the least"},
    {"null_validator", "test.null-validator",
     "its table of kvedit.validate/1 has no function validate"},
    {"duplicate_rules", "", "it has two rules test.duplicate-rules-rule"},
    {"standard", "kvedit.fixture",
     "its id is kvedit.fixture, which is kept for the directory of the standard rules; choose "
     "another"},
    {"foreign_rule", "test.foreign-rule", "it has a rule kvedit.mamba-row, which is kept for"},
    {"standard_tier", "test.standard-tier", "asks for the tier standard, which is kept for"},
    {"unknown_tier", "", "the tier of rule 0 is 0; 1 to 3 are known"},
    {"id_not_utf8", "", "its id is not UTF-8"},
    {"id_without_dot", "", "its id is \"nodot\", not a vendor's name, a dot and a name"},
    {"needs_companion", "test.needs-companion", "cannot be loaded: libfixture_companion.so: "},
    {"undefined", "test.undefined", "undefined symbol: fixture_nobody"},
    {"throws_in_entry", "test.throws-in-entry", "threw while it was loaded: no licence"},
};

}  // namespace

TEST_CASE("a broken pack is refused with what is wrong with it") {
  const Refused& broken = GENERATE(from_range(std::begin(refused), std::end(refused)));
  CAPTURE(broken.fixture);
  const LoadedPacks loaded = load(only_files({fixture(broken.fixture)}));

  REQUIRE(loaded.infos.size() == 1);
  const PackInfo& info = loaded.infos.front();
  CHECK(info.state == PackInfo::State::refused);
  CHECK_THAT(info.reason, Catch::Contains(broken.reason));
  CHECK(info.id == broken.id);
  CHECK(info.origin == "named");
  CHECK(info.path == fixture(broken.fixture).string());
  CHECK(info.sha256.size() == 64);
  CHECK(loaded.packs.empty());
  CHECK(loaded.rules.empty());

  REQUIRE(loaded.problems.size() == 1);
  const Problem& problem = loaded.problems.front();
  CHECK(problem.code == Code::pack_refused);
  CHECK(problem.severity == Severity::error);
  CHECK_THAT(problem.message, Catch::Contains(broken.reason));
  CHECK_THAT(problem.message, Catch::Contains(std::string(broken.fixture) + ".so"));
  CHECK_THAT(problem.message, !Catch::Contains("/packs/"));
}

TEST_CASE("a refused pack that nobody named is a warning, a required one an error") {
  const TemporaryDirectory directory;
  directory.add("refuses");
  HostOptions options = only_directories({directory.path()});
  REQUIRE(load(options).problems.size() == 1);
  CHECK(load(options).problems[0].severity == Severity::warning);

  options.required_packs = {"test.refuses"};
  const LoadedPacks loaded = load(options);
  REQUIRE(loaded.problems.size() == 1);
  CHECK(loaded.problems[0].severity == Severity::error);
  CHECK(loaded.problems[0].code == Code::pack_refused);
}

TEST_CASE("a required pack that is nowhere is missing, once") {
  HostOptions options = only_files({fixture("good")});
  options.required_packs = {"test.good", "test.absent", "test.absent"};
  const LoadedPacks loaded = load(options);
  REQUIRE(loaded.problems.size() == 1);
  CHECK(loaded.problems[0].code == Code::pack_missing);
  CHECK(loaded.problems[0].severity == Severity::error);
  CHECK_THAT(loaded.problems[0].message, Catch::Contains("test.absent"));
  CHECK(rule_ids(loaded) == std::vector<std::string>{"test.good-rule"});
}

TEST_CASE("the later of two packs with the same pack id or rule id is refused, with both paths") {
  const std::string second = GENERATE("twin", "same_rule");
  const LoadedPacks loaded = load(only_files({fixture("good"), fixture(second)}));
  REQUIRE(loaded.infos.size() == 2);
  CHECK(loaded.infos[0].state == PackInfo::State::loaded);
  CHECK(loaded.infos[1].state == PackInfo::State::refused);
  CHECK_THAT(loaded.infos[1].reason, Catch::Contains(fixture("good").string()) &&
                                         Catch::Contains(fixture(second).string()));
  CHECK(rule_ids(loaded) == std::vector<std::string>{"test.good-rule"});
  REQUIRE(loaded.problems.size() == 1);
  CHECK_THAT(loaded.problems[0].message,
             Catch::Contains("taken by good.so, this is " + second + ".so"));
}

TEST_CASE("a pack that fails to load is not replaced by another of its id") {
  const TemporaryDirectory first, second;
  first.add("refuses", "a.so");
  second.add("refuses", "b.so");
  const LoadedPacks loaded = load(only_directories({first.path(), second.path()}));
  REQUIRE(loaded.infos.size() == 2);
  CHECK_THAT(loaded.infos[1].reason, Catch::Contains("taken by " + loaded.infos[0].path));
}

TEST_CASE("a pack of a kept name does not stand in the way of the standard one") {
  const TemporaryDirectory foreign, standard;
  foreign.add("standard");
  standard.add("standard");
  HostOptions options = only_directories({foreign.path()});
  options.standard_rules = true;
  options.standard_rules_dir = standard.path().string();
  const LoadedPacks loaded = load(options);
  REQUIRE(loaded.infos.size() == 2);
  CHECK(loaded.infos[0].state == PackInfo::State::refused);
  CHECK(loaded.infos[1].state == PackInfo::State::loaded);
  CHECK(loaded.infos[1].origin == "standard");
  REQUIRE(loaded.rules.size() == 1);
  CHECK(loaded.rules[0].info.tier == "standard");
}

}  // namespace kvedit::test
