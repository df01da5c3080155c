#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "model/layer_facts.hpp"
#include "packs/packs.hpp"

namespace kvedit::test {

namespace fs = std::filesystem;

/// The built fixture of this name.
fs::path fixture(const std::string& name);

/// An empty directory, gone at the end.
class TemporaryDirectory {
 public:
  TemporaryDirectory();
  TemporaryDirectory(const TemporaryDirectory&) = delete;
  TemporaryDirectory& operator=(const TemporaryDirectory&) = delete;
  ~TemporaryDirectory();

  const fs::path& path() const { return path_; }
  /// Copies a fixture into it.
  fs::path add(const std::string& name, const std::string& as = "") const;
  fs::path add_text(const std::string& file, std::string_view contents) const;

 private:
  fs::path path_;
};

/// Options without the standard rules.
HostOptions only_files(const std::vector<fs::path>& files);
HostOptions only_directories(const std::vector<fs::path>& directories);

/// Loads; fails the test when it gives an error.
LoadedPacks load(const HostOptions& options);

std::vector<std::string> rule_ids(const LoadedPacks& loaded);

/// A recurrent layer of one tensor: 4 blocks of 96 bytes in rows of 128.
struct RowLayer {
  RowLayer();

  Spec spec;
  Group group;
  std::vector<Tensor> tensors;
  LayerFacts facts;
};

}  // namespace kvedit::test
