#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <kvedit/export.hpp>

namespace kvedit {

/// The shape in which a consumer wants the views (`docs/architecture.md`, "Profiles").
enum class Profile : std::uint32_t { native, packed, bytes, lmcache };

/// What the bytes are moved for: found again by token prefix, or a running request that moves.
enum class Purpose : std::uint32_t { prefix, transfer };

/// How profile `lmcache` shows a row of recurrent states: the state bytes with as little padding as
/// the cut allows, or the whole page in one run, which its transfer through shared memory wants.
enum class RecurrentRows : std::uint32_t { tight, page };

KVEDIT_API std::string_view to_text(Profile profile);
KVEDIT_API std::string_view to_text(Purpose purpose);
KVEDIT_API std::string_view to_text(RecurrentRows rows);
KVEDIT_API std::optional<Profile> find_profile(std::string_view name);
KVEDIT_API std::optional<Purpose> find_purpose(std::string_view name);
KVEDIT_API std::optional<RecurrentRows> find_recurrent_rows(std::string_view name);

struct EditOptions {
  Profile profile = Profile::native;
  Purpose purpose = Purpose::prefix;
  /// Leave caches of no group alone (outcome `excluded`) instead of reporting `missing-spec`.
  bool pass_ungrouped = false;
  /// Read by profile `lmcache` only.
  RecurrentRows recurrent_rows = RecurrentRows::tight;
};

enum class LogLevel : std::uint32_t { debug, info, warning, error };

struct HostOptions {
  std::vector<std::string> packs;      ///< rule pack files, looked at first, in this order
  std::vector<std::string> rule_dirs;  ///< directories of rule packs, in this order; must exist
  std::vector<std::string> required_packs;  ///< pack ids whose absence is an error of every edit

  bool standard_rules = true;
  std::string standard_rules_dir;  ///< must hold rule packs; empty: beside the library

  /// Also read `KVEDIT_RULE_PATH` and the configuration directories (`docs/rules.md`, "Where packs
  /// are looked for"). Ignored in a process with raised privileges.
  bool environment = false;

  /// Told what was loaded and refused, and what an edit found. Called from the thread that calls
  /// the host; may be called from several at once. The library writes nowhere else.
  std::function<void(LogLevel, std::string_view)> log;
};

}  // namespace kvedit
