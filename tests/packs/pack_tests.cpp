#include "pack_tests.hpp"

#include <unistd.h>

#include <catch2/catch.hpp>
#include <cstdlib>
#include <fstream>

namespace kvedit::test {

fs::path fixture(const std::string& name) {
  return fs::path(KVEDIT_PACK_FIXTURES) / (name + ".so");
}

TemporaryDirectory::TemporaryDirectory() {
  std::string pattern = (fs::temp_directory_path() / "kvedit-packs-XXXXXX").string();
  REQUIRE(mkdtemp(pattern.data()) != nullptr);
  path_ = fs::canonical(pattern);
}

TemporaryDirectory::~TemporaryDirectory() {
  std::error_code ignored;
  fs::remove_all(path_, ignored);
}

fs::path TemporaryDirectory::add(const std::string& name, const std::string& as) const {
  const fs::path file = path_ / (as.empty() ? name + ".so" : as);
  fs::copy_file(fixture(name), file);
  return file;
}

fs::path TemporaryDirectory::add_text(const std::string& file, std::string_view contents) const {
  std::ofstream(path_ / file, std::ios::binary) << contents;
  return path_ / file;
}

HostOptions only_files(const std::vector<fs::path>& files) {
  HostOptions options;
  options.standard_rules = false;
  for (const fs::path& file : files) options.packs.push_back(file.string());
  return options;
}

HostOptions only_directories(const std::vector<fs::path>& directories) {
  HostOptions options;
  options.standard_rules = false;
  for (const fs::path& directory : directories) options.rule_dirs.push_back(directory.string());
  return options;
}

LoadedPacks load(const HostOptions& options) {
  Expected<LoadedPacks> loaded = load_packs(options);
  if (!loaded) FAIL(loaded.error().text());
  return *std::move(loaded);
}

std::vector<std::string> rule_ids(const LoadedPacks& loaded) {
  std::vector<std::string> ids;
  for (const LoadedRule& rule : loaded.rules) ids.push_back(rule.info.id);
  return ids;
}

RowLayer::RowLayer() {
  spec.type = "MambaSpec";
  spec.bases = {"KVCacheSpec"};
  spec.kind = Kind::mamba;
  spec.block_size = 16;
  spec.page_size_bytes = 128;
  spec.state_bytes = 96;
  group.role = "draft";
  group.host_resident = true;
  const DType bfloat16{"bfloat16", 4, 16, 1, 2};
  tensors.push_back({bfloat16, {4, 48}, {64, 1}, 0, "s0"});
  facts.spec = &spec;
  facts.group = &group;
  facts.layout = "LBHNC";
  facts.num_blocks = 4;
  facts.tensors = tensors;
}

}  // namespace kvedit::test
