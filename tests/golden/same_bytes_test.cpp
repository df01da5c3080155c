#include <algorithm>
#include <filesystem>
#include <string>
#include <thread>
#include <vector>

#include <unistd.h>

#include <catch2/catch.hpp>

#include "given.hpp"

namespace kvedit::golden {
namespace {

namespace fs = std::filesystem;

std::vector<Registration> all_registrations() {
  std::vector<Registration> all;
  for (const std::string& name : registration_names()) all.emplace_back(given_registration(name));
  return all;
}

std::string report_of(const Host& host, const Registration& registration, Profile profile) {
  EditOptions options;
  options.profile = profile;
  return write_report(host.edit(registration, options));
}

/// A folder that goes away with the object.
class Folder {
 public:
  explicit Folder(const std::string& name)
      : path_(fs::temp_directory_path() /
              ("kvedit-golden-" + std::to_string(::getpid()) + "-" + name)) {
    fs::create_directories(path_);
    fs::permissions(path_, fs::perms::owner_all);
  }
  ~Folder() {
    std::error_code ignored;
    fs::remove_all(path_, ignored);
  }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  const fs::path& path() const { return path_; }

 private:
  fs::path path_;
};

std::vector<fs::path> standard_packs() {
  std::vector<fs::path> packs;
  for (const fs::directory_entry& entry : fs::directory_iterator(KVEDIT_RULES_DIR))
    if (entry.path().extension() == ".so") packs.push_back(entry.path());
  std::sort(packs.begin(), packs.end());
  return packs;
}

Host host_of(const fs::path& standard) {
  HostOptions options;
  options.standard_rules_dir = standard.string();
  Expected<Host> host = Host::open(options);
  REQUIRE(host.has_value());
  return *host;
}

std::vector<std::string> reports(const Host& host) {
  std::vector<std::string> texts;
  for (const Registration& registration : all_registrations())
    texts.push_back(report_of(host, registration, Profile::native));
  return texts;
}

}  // namespace

TEST_CASE("the same registration gives the same report, run after run and host after host") {
  const Host again = host_of(KVEDIT_RULES_DIR);
  for (const Registration& registration : all_registrations())
    for (const Profile profile : {Profile::native, Profile::packed, Profile::bytes}) {
      const std::string first = report_of(standard_host(), registration, profile);
      CHECK_FALSE(first.empty());
      CHECK(report_of(standard_host(), registration, profile) == first);
      CHECK(report_of(again, registration, profile) == first);
    }
}

TEST_CASE("eight threads on one host get the reports of one") {
  const std::vector<Registration> all = all_registrations();
  const std::vector<std::string> alone = reports(standard_host());
  std::vector<std::vector<std::string>> texts(8, std::vector<std::string>(all.size()));
  std::vector<std::thread> threads;
  for (std::size_t t = 0; t < texts.size(); ++t)
    threads.emplace_back([&all, &texts, t] {
      for (std::size_t i = 0; i < all.size(); ++i) {
        const std::size_t at = (i + t * 7) % all.size();  // each thread begins elsewhere
        texts[t][at] = report_of(standard_host(), all[at], Profile::native);
      }
    });
  for (std::thread& thread : threads) thread.join();
  for (const std::vector<std::string>& of_thread : texts) CHECK(of_thread == alone);
}

TEST_CASE("the order in which packs came into their folder changes nothing") {
  std::vector<fs::path> packs = standard_packs();
  REQUIRE(packs.size() >= 4);
  const std::vector<std::string> expected = reports(standard_host());
  for (const std::string order : {"forwards", "backwards", "halves"}) {
    if (order == "backwards") std::reverse(packs.begin(), packs.end());
    if (order == "halves") std::rotate(packs.begin(), packs.begin() + 2, packs.end());
    const Folder folder(order);
    for (const fs::path& pack : packs) fs::copy_file(pack, folder.path() / pack.filename());
    CHECK(reports(host_of(folder.path())) == expected);
  }
}

TEST_CASE("folders without rules, in any order, change nothing") {
  const Folder one("one");
  const Folder two("two");
  HostOptions options;
  options.standard_rules_dir = KVEDIT_RULES_DIR;
  options.rule_dirs = {one.path().string(), two.path().string()};
  const Expected<Host> forwards = Host::open(options);
  std::reverse(options.rule_dirs.begin(), options.rule_dirs.end());
  const Expected<Host> backwards = Host::open(options);
  REQUIRE(forwards.has_value());
  REQUIRE(backwards.has_value());
  const std::vector<std::string> expected = reports(standard_host());
  CHECK(reports(*forwards) == expected);
  CHECK(reports(*backwards) == expected);
}

TEST_CASE("what is written is read back and gives the same report") {
  for (const Registration& registration : all_registrations()) {
    const std::string text = write_registration(registration.data());
    const Expected<Registration> again = read_registration(text);
    REQUIRE(again.has_value());
    CHECK(write_registration(again->data()) == text);
    CHECK(report_of(standard_host(), *again, Profile::native) ==
          report_of(standard_host(), registration, Profile::native));
  }
}

}  // namespace kvedit::golden
