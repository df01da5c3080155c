#pragma once

#include <filesystem>
#include <optional>
#include <vector>

#include <kvedit/error.hpp>
#include <kvedit/host.hpp>

#include "packs/descriptor.hpp"
#include "packs/places.hpp"

namespace kvedit {

/// A file that was looked at; none of its code has run.
struct FoundFile {
  PackInfo info;               // `path` as found; with a reason unless it is a pack
  std::filesystem::path file;  // without links
  bool named = false;          // by the caller
  bool missing = false;
  bool standard = false;  // lies in the directory of the standard rules
  std::optional<PackDescriptor> descriptor;
};

/// Looks at the places in order, in each directory by file name. A file found again is skipped.
/// Errors: a directory that must be there and cannot be read.
Expected<std::vector<FoundFile>> find_files(const std::vector<Place>& places,
                                            const std::filesystem::path& standard_directory);

}  // namespace kvedit
