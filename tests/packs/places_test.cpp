#include "packs/places.hpp"

#include <sys/stat.h>

#include <catch2/catch.hpp>

#include "pack_tests.hpp"

namespace kvedit::test {
namespace {

std::vector<std::string> paths(const HostOptions& options, const Surroundings& surroundings) {
  std::vector<std::string> all;
  for (const Place& place : search_places(options, surroundings))
    all.push_back(place.origin + " " + place.path.string());
  return all;
}

const Surroundings surroundings{false, "/r1::/r2", "/home/u", std::nullopt, "/x1:x2:/x3"};

}  // namespace

TEST_CASE("places are looked at in the documented order") {
  HostOptions options;
  options.packs = {"/p.so"};
  options.rule_dirs = {"/d1", "/d2"};
  options.standard_rules_dir = "/standard";
  options.environment = true;
  CHECK(paths(options, surroundings) ==
        std::vector<std::string>{"named /p.so", "rules-dir /d1", "rules-dir /d2", "environment /r1",
                                 "environment /r2", "user /home/u/.config/kvedit/rules.d",
                                 "system /x1/kvedit/rules.d", "system /x3/kvedit/rules.d",
                                 "system /etc/kvedit/rules.d", "standard /standard"});
}

TEST_CASE("the environment is believed only when asked for, and never with raised privileges") {
  HostOptions options;
  options.standard_rules_dir = "/standard";
  CHECK(paths(options, surroundings) == std::vector<std::string>{"standard /standard"});
  options.environment = true;
  Surroundings privileged = surroundings;
  privileged.privileged = true;
  CHECK(paths(options, privileged) == std::vector<std::string>{"standard /standard"});
  options.standard_rules = false;
  CHECK(paths(options, {}) ==
        std::vector<std::string>{"system /etc/xdg/kvedit/rules.d", "system /etc/kvedit/rules.d"});
}

TEST_CASE("XDG_CONFIG_HOME stands before HOME") {
  HostOptions options;
  options.standard_rules = false;
  options.environment = true;
  Surroundings given{false, std::nullopt, "/home/u", "/config", "/none"};
  CHECK(paths(options, given).front() == "user /config/kvedit/rules.d");
}

TEST_CASE("the standard rules lie beside the file that holds this code") {
  const fs::path program = fs::canonical("/proc/self/exe");
  CHECK(standard_directory({}) == program.parent_path() / "kvedit" / "rules");
  HostOptions options;
  options.standard_rules_dir = "/elsewhere";
  CHECK(standard_directory(options) == "/elsewhere");
}

TEST_CASE("a directory of the options must be there") {
  const TemporaryDirectory directory;
  const fs::path absent = directory.path() / "absent";
  HostOptions options = only_directories({absent});
  const Expected<LoadedPacks> loaded = load_packs(options);
  REQUIRE(!loaded);
  CHECK(loaded.error().where == absent.string());
  CHECK_THAT(loaded.error().message, Catch::Contains("No such file or directory"));

  HostOptions standard;
  standard.standard_rules_dir = absent.string();
  CHECK(!load_packs(standard));
}

TEST_CASE("a directory of the environment may be absent, which is shown") {
  const TemporaryDirectory directory, home;
  fs::create_directories(home.path() / ".config/kvedit/rules.d");
  fs::copy_file(fixture("good"), home.path() / ".config/kvedit/rules.d/good.so");
  HostOptions options = only_files({});
  options.environment = true;
  const Expected<LoadedPacks> loaded = load_packs(
      options, {false, (directory.path() / "absent").string(), home.path().string(), {}, "/none"});
  REQUIRE(loaded);
  REQUIRE(loaded->infos.size() == 2);
  CHECK(loaded->infos[0].origin == "environment");
  CHECK(loaded->infos[0].state == PackInfo::State::skipped);
  CHECK(loaded->infos[1].origin == "user");
  CHECK(loaded->infos[1].state == PackInfo::State::loaded);
  CHECK(loaded->problems.empty());
}

TEST_CASE("only regular .so files of a directory are read") {
  const TemporaryDirectory directory;
  directory.add("good", "good.so.1");
  directory.add_text("readme.txt", "not looked at");
  directory.add_text("text.so", "INPUT(libm.so)");
  directory.add_text("empty.so", "");
  fs::create_directory(directory.path() / "folder.so");
  REQUIRE(mkfifo((directory.path() / "pipe.so").c_str(), 0600) == 0);
  fs::copy_file(fs::path(KVEDIT_PACK_FIXTURES) / "../companion/libfixture_companion.so",
                directory.path() / "library.so");
  const LoadedPacks loaded = load(only_directories({directory.path()}));
  std::vector<std::string> reasons;
  for (const PackInfo& info : loaded.infos) {
    CHECK(info.state == PackInfo::State::skipped);
    reasons.push_back(info.reason);
  }
  CHECK(reasons ==
        std::vector<std::string>{"not a rule pack: not an ELF file", "not a regular file",
                                 "not a rule pack: no section .kvedit.pack", "not a regular file",
                                 "not a rule pack: not an ELF file"});
  CHECK(loaded.problems.empty());
}

TEST_CASE("a named file is refused where one of a directory is skipped") {
  const TemporaryDirectory directory;
  const LoadedPacks loaded = load(only_files(
      {directory.add_text("text.so", "no ELF"), directory.path(), directory.path() / "absent.so"}));
  REQUIRE(loaded.infos.size() == 3);
  REQUIRE(loaded.problems.size() == 3);
  for (const PackInfo& info : loaded.infos) CHECK(info.state == PackInfo::State::refused);
  for (const Problem& problem : loaded.problems) CHECK(problem.severity == Severity::error);
  CHECK(loaded.problems[0].code == Code::pack_refused);
  CHECK(loaded.problems[1].code == Code::pack_refused);
  CHECK(loaded.problems[2].code == Code::pack_missing);
  CHECK(loaded.problems[2].message == "rule pack absent.so is missing: there is no such file");
}

TEST_CASE("the directory of the standard rules keeps its rights wherever it is named") {
  const TemporaryDirectory standard, links;
  standard.add("standard");
  fs::create_directory_symlink(standard.path(), links.path() / "rules");
  HostOptions options = only_directories({links.path() / "rules"});
  options.standard_rules = true;
  options.standard_rules_dir = standard.path().string();
  const LoadedPacks loaded = load(options);
  REQUIRE(loaded.infos.size() == 1);
  CHECK(loaded.infos[0].state == PackInfo::State::loaded);
  CHECK(loaded.infos[0].origin == "rules-dir");
}

}  // namespace kvedit::test
