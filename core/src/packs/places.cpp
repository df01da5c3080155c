#include "packs/places.hpp"

#include <sys/auxv.h>
#include <algorithm>
#include <cstdlib>
#include <string_view>
#include <system_error>

#include <boost/dll/runtime_symbol_info.hpp>

namespace kvedit {
namespace {

namespace fs = std::filesystem;

std::optional<std::string> variable(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? std::nullopt : std::optional<std::string>(value);
}

/// The parts of a list separated by colons; empty parts are none.
std::vector<fs::path> split(std::string_view list) {
  std::vector<fs::path> parts;
  while (!list.empty()) {
    const std::size_t end = std::min(list.find(':'), list.size());
    if (end > 0) parts.emplace_back(list.substr(0, end));
    list.remove_prefix(std::min(end + 1, list.size()));
  }
  return parts;
}

fs::path made_absolute(const fs::path& path) {
  std::error_code failed;
  fs::path result = fs::absolute(path, failed);
  return failed ? path : result;
}

/// The file this code was loaded from: the library, or the program it is linked into.
fs::path own_file() {
  std::error_code failed;
  const fs::path loaded = boost::dll::symbol_location_ptr(&own_file, failed);
  // The loader keeps the name it was given, which for a program may be relative to nothing.
  if (!failed && loaded.has_parent_path())
    if (fs::path file = fs::canonical(loaded, failed); !failed) return file;
  return boost::dll::program_location(failed);
}

void add_configuration(const Surroundings& surroundings, std::vector<Place>& places) {
  const auto add = [&](const char* origin, const fs::path& base) {
    if (base.is_absolute())  // others are to be ignored, says the XDG specification
      places.push_back(
          {Place::Kind::directory, origin, base / "kvedit" / "rules.d", Place::Absence::normal});
  };
  const auto given = [](const std::optional<std::string>& text) { return text && !text->empty(); };
  if (given(surroundings.config_home))
    add("user", *surroundings.config_home);
  else if (given(surroundings.home))
    add("user", fs::path(*surroundings.home) / ".config");
  const std::string system =
      given(surroundings.config_dirs) ? *surroundings.config_dirs : "/etc/xdg";
  for (const fs::path& base : split(system)) add("system", base);
  add("system", "/etc");
}

}  // namespace

Surroundings Surroundings::of_this_process() {
  return {getauxval(AT_SECURE) != 0, variable("KVEDIT_RULE_PATH"), variable("HOME"),
          variable("XDG_CONFIG_HOME"), variable("XDG_CONFIG_DIRS")};
}

fs::path standard_directory(const HostOptions& options) {
  if (!options.standard_rules_dir.empty()) return made_absolute(options.standard_rules_dir);
  return own_file().parent_path() / "kvedit" / "rules";
}

std::vector<Place> search_places(const HostOptions& options, const Surroundings& surroundings) {
  std::vector<Place> places;
  for (const std::string& file : options.packs)
    places.push_back({Place::Kind::file, "named", made_absolute(file), Place::Absence::shown});
  for (const std::string& directory : options.rule_dirs)
    places.push_back(
        {Place::Kind::directory, "rules-dir", made_absolute(directory), Place::Absence::error});
  if (options.environment && !surroundings.privileged) {
    for (const fs::path& directory : split(surroundings.rule_path.value_or("")))
      places.push_back(
          {Place::Kind::directory, "environment", made_absolute(directory), Place::Absence::shown});
    add_configuration(surroundings, places);
  }
  if (options.standard_rules)
    places.push_back(
        {Place::Kind::directory, "standard", standard_directory(options), Place::Absence::error});
  return places;
}

}  // namespace kvedit
