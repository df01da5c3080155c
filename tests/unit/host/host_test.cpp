#include <kvedit/host.hpp>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <mutex>
#include <stdexcept>
#include <thread>

#include <unistd.h>

#include <catch2/catch.hpp>

#include <kvedit/json.hpp>

#include "json/given_registrations.hpp"
#include "layers.hpp"

using namespace kvedit;
using namespace kvedit::testing;

namespace {

HostOptions standard() {
  HostOptions options;
  options.standard_rules_dir = KVEDIT_RULES_DIR;
  return options;
}

HostOptions without_rules() {
  HostOptions options;
  options.standard_rules = false;
  return options;
}

Host opened(const HostOptions& options) {
  auto host = Host::open(options);
  if (!host) FAIL(host.error().text());
  return *host;
}

std::string refused(const HostOptions& options) {
  const auto host = Host::open(options);
  REQUIRE_FALSE(host);
  return host.error().text();
}

Registration given(const char* name) {
  auto registration =
      read_registration(file_text(std::filesystem::path(KVEDIT_TEST_DATA "/registrations") / name));
  REQUIRE(registration);
  return *registration;
}

/// 17 kernel pages of 32 tokens a block.
Registration kernel_paged() {
  RegistrationData data = dense_data({});
  data.num_blocks = 4;
  data.storages.push_back({"s0", 1 << 22, "cpu"});
  data.caches.push_back({"attn", {contiguous("bfloat16", {68, 1, 32, 512})}, false});
  data.groups[0].layers.push_back("attn");
  data.groups[0].spec =
      spec("FullAttentionSpec", 544, 557056, {field("num_kv_heads", 1), field("head_size", 256)});
  return Registration(data);
}

struct Heard {
  std::mutex mutex;
  std::vector<std::pair<LogLevel, std::string>> lines;

  std::function<void(LogLevel, std::string_view)> ear() {
    return [this](LogLevel level, std::string_view line) {
      const std::lock_guard lock(mutex);
      lines.emplace_back(level, line);
    };
  }
  bool has(LogLevel level, const std::string& words) const {
    return std::any_of(lines.begin(), lines.end(), [&](const auto& line) {
      return line.first == level && line.second.find(words) != std::string::npos;
    });
  }
};

}  // namespace

TEST_CASE("host: a registration made in C++ goes the whole way") {
  const Host host = opened(standard());
  const Result result = host.edit(kernel_paged());
  REQUIRE(result.ok());
  const LayerResult layer = *result.find_layer("attn");
  CHECK(layer.outcome() == Outcome::edited);
  CHECK(layer.rule() == "kvedit.subpaged-attention");
  const auto pages = layer.pages();
  REQUIRE(pages);
  CHECK(pages->kernel_pages == 17);
  CHECK(pages->block_bytes == 557056);
  CHECK(pages->tokens == 544);
  CHECK(pages->slots == 544);
  CHECK_FALSE(pages->declared);
  CHECK(result.layers_claimed().size() == result.rules().size());
}

TEST_CASE("host: without the standard rules kernel pages are refused, whole pages pass") {
  const Host host = opened(without_rules());
  CHECK(host.rules().empty());
  CHECK(host.packs().empty());
  CHECK(host.edit(Registration(dense_data({"a"}))).ok());
  const Result result = host.edit(kernel_paged());
  CHECK_FALSE(result.ok());
  REQUIRE(result.problems().size() == 1);
  CHECK(result.problems()[0].code == Code::granularity_mismatch);
  CHECK_FALSE(result.layer(0).pages());
  CHECK(result.layer(0).view_count() == 0);
  CHECK(result.layer(0).owned().empty());
}

TEST_CASE("host: one error takes views and pages from every layer") {
  RegistrationData data = dense_data({"a", "b"});
  data.caches.pop_back();
  const Result result = opened(without_rules()).edit(Registration(data));
  CHECK_FALSE(result.ok());
  REQUIRE(result.problems().size() == 1);
  CHECK(result.problems()[0].code == Code::missing_cache);
  CHECK(result.problems()[0].layer == "b");
  CHECK_FALSE(result.find_layer("a")->pages());
  CHECK(result.find_layer("a")->view_count() == 0);
  CHECK_FALSE(result.chunk_tokens());
}

TEST_CASE("host: caches of no group are a problem, or left alone when asked") {
  RegistrationData data = dense_data({"a", "lone"});
  data.groups[0].layers.pop_back();
  const Registration registration(data);
  const Host host = opened(without_rules());
  const Result strict = host.edit(registration);
  CHECK_FALSE(strict.ok());
  REQUIRE(strict.problems().size() == 1);
  CHECK(strict.problems()[0].code == Code::missing_spec);
  EditOptions options;
  options.pass_ungrouped = true;
  const Result lenient = host.edit(registration, options);
  CHECK(lenient.ok());
  CHECK(lenient.find_layer("lone")->outcome() == Outcome::excluded);
  CHECK_FALSE(lenient.find_layer("lone")->reason().empty());
  CHECK(lenient.find_layer("a")->pages());
}

TEST_CASE("host: a directory of standard rules without rules is no silent lack of rules") {
  const std::filesystem::path folder =
      std::filesystem::temp_directory_path() / ("kvedit-empty-" + std::to_string(getpid()));
  std::filesystem::create_directory(folder);
  HostOptions options;
  options.standard_rules_dir = folder.string();
  const std::string said = refused(options);
  CHECK(said.find(folder.string()) != std::string::npos);
  CHECK(said.find("no rule pack") != std::string::npos);
  options.standard_rules = false;  // then nobody looks there
  CHECK(opened(options).rules().empty());
  std::filesystem::remove(folder);
}

TEST_CASE("host: an empty registration is ok, and of no group") {
  RegistrationData data;
  const Result none = opened(standard()).edit(Registration(data));
  CHECK_FALSE(none.ok());  // zero blocks mean nothing
  REQUIRE(none.problems().size() == 1);
  CHECK(none.problems()[0].code == Code::bad_geometry);
  data.num_blocks = 1;
  const Result result = opened(standard()).edit(Registration(data));
  CHECK(result.ok());
  CHECK(result.layer_count() == 0);
  CHECK(result.groups().empty());
  CHECK_FALSE(result.chunk_tokens());
  CHECK_FALSE(result.find_layer(""));
  CHECK_FALSE(write_report(result).empty());
}

TEST_CASE("host: options that cannot be met are errors that name them") {
  HostOptions options = without_rules();
  options.rule_dirs = {"/nowhere/at all"};
  CHECK(refused(options).find("/nowhere/at all") != std::string::npos);
  options = standard();
  options.standard_rules_dir = "/nowhere/standard";
  CHECK(refused(options).find("/nowhere/standard") != std::string::npos);
  options = without_rules();
  options.rule_dirs = {KVEDIT_TEST_DATA "/CMakeLists.txt"};
  CHECK(refused(options).find("CMakeLists.txt") != std::string::npos);
}

TEST_CASE("host: a pack that is required and missing is an error of every edit") {
  HostOptions options = standard();
  options.required_packs = {"kvedit.mamba-row", "acme.rules"};
  const Host host = opened(options);
  REQUIRE(host.problems().size() == 1);
  CHECK(host.problems()[0].code == Code::pack_missing);
  CHECK(host.problems()[0].message.find("acme.rules") != std::string::npos);
  const Result result = host.edit(Registration(dense_data({"a"})));
  CHECK_FALSE(result.ok());
  REQUIRE(result.problems().size() == 1);
  CHECK(result.problems()[0].code == Code::pack_missing);
}

TEST_CASE("host: a named file that is no pack is refused and an error of every edit") {
  HostOptions options = standard();
  options.packs = {KVEDIT_TEST_DATA "/CMakeLists.txt"};
  const Host host = opened(options);
  REQUIRE_FALSE(host.problems().empty());
  CHECK(host.problems()[0].code == Code::pack_refused);
  CHECK_FALSE(host.edit(Registration(dense_data({"a"}))).ok());
}

TEST_CASE("host: the log callback hears packs and problems, nothing is written elsewhere") {
  Heard heard;
  HostOptions options = standard();
  options.log = heard.ear();
  const Host host = opened(options);
  CHECK(heard.has(LogLevel::debug, "mamba"));
  CHECK(heard.has(LogLevel::info, std::to_string(host.rules().size()) + " rules"));
  heard.lines.clear();
  CHECK(host.edit(Registration(dense_data({"a"}))).ok());
  CHECK(heard.lines.empty());
  RegistrationData data = dense_data({"a"});
  data.caches.clear();
  CHECK_FALSE(host.edit(Registration(data)).ok());
  CHECK(heard.has(LogLevel::error, "missing-cache"));
  CHECK(heard.has(LogLevel::error, "layer a"));
}

TEST_CASE("host: names with format braces reach the log as they are") {
  Heard heard;
  HostOptions options = without_rules();
  options.log = heard.ear();
  RegistrationData data = dense_data({"{} {0:x} %s"});
  data.caches.clear();
  CHECK_FALSE(opened(options).edit(Registration(data)).ok());
  CHECK(heard.has(LogLevel::error, "{} {0:x} %s"));
}

TEST_CASE("host: a result outlives its host and registration") {
  std::optional<Result> result;
  {
    const Host host = opened(standard());
    result = host.edit(kernel_paged());
  }
  CHECK(result->layer(0).name() == "attn");
  CHECK(result->layer(0).view(0).shape.size() == 5);
  CHECK(write_report(*result).find("kvedit.subpaged-attention") != std::string::npos);
}

TEST_CASE("host: eight threads get the same report, byte for byte") {
  const Host host = opened(standard());
  const Registration registration = given("live-v0320-qwen3-next-64-kbs32.json");
  const std::string expected = write_report(host.edit(registration));
  REQUIRE(host.edit(registration).ok());
  std::vector<int> different(8, 0);
  std::vector<std::thread> threads;
  for (int& each : different)
    threads.emplace_back([&] {
      for (int i = 0; i < 10; ++i) each += write_report(host.edit(registration)) != expected;
    });
  for (std::thread& thread : threads) thread.join();
  CHECK(different == std::vector<int>(8, 0));
}

TEST_CASE("host: a log callback that throws is not told on standard error") {
  HostOptions options = without_rules();
  options.log = [](LogLevel, std::string_view) { throw std::runtime_error("mine"); };
  std::FILE* const caught = std::tmpfile();
  REQUIRE(caught);
  const int kept = dup(STDERR_FILENO);
  dup2(fileno(caught), STDERR_FILENO);
  const auto host = Host::open(options);
  const bool ok = host && host->edit(Registration(RegistrationData{})).ok();
  std::fflush(stderr);
  dup2(kept, STDERR_FILENO);
  close(kept);
  CHECK(std::fseek(caught, 0, SEEK_END) == 0);
  CHECK(std::ftell(caught) == 0);
  std::fclose(caught);
  CHECK(host);
  CHECK_FALSE(ok);  // no blocks
}

TEST_CASE("host: a wrapper's page is no layer's page") {
  RegistrationData data = dense_data({"a"});
  const Spec leaf = data.groups[0].spec;
  data.groups[0].spec = spec("UniformTypeKVCacheSpecs", leaf.block_size, leaf.page_size_bytes);
  const Host host = opened(without_rules());
  const Result refused = host.edit(Registration(data));
  REQUIRE_FALSE(refused.ok());
  CHECK(refused.problems()[0].code == Code::bad_geometry);
  CHECK(refused.problems()[0].message.find("no leaf") != std::string::npos);
  data.groups[0].layer_specs = {{"a", leaf}};
  CHECK(host.edit(Registration(data)).ok());
}
