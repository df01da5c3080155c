#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include <kvedit/error.hpp>
#include <kvedit/options.hpp>

namespace kvedit {

/// Somewhere to look for packs.
struct Place {
  enum class Kind { file, directory };
  /// What an absent place means.
  enum class Absence { error, shown, normal };

  Kind kind = Kind::directory;
  std::string origin;  // of `PackInfo`
  std::filesystem::path path;
  Absence absence = Absence::error;
};

/// What the environment says, as far as it is about packs.
struct Surroundings {
  bool privileged = false;  // raised: nothing else here is believed
  std::optional<std::string> rule_path, home, config_home, config_dirs;

  static Surroundings of_this_process();
};

/// Where the standard rules lie: as the options say, else beside this library.
std::filesystem::path standard_directory(const HostOptions& options);

/// In the order in which they are looked at.
std::vector<Place> search_places(const HostOptions& options, const Surroundings& surroundings);

}  // namespace kvedit
