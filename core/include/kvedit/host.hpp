#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include <kvedit/error.hpp>
#include <kvedit/export.hpp>
#include <kvedit/options.hpp>
#include <kvedit/registration.hpp>
#include <kvedit/result.hpp>

namespace kvedit {

/// A rule pack as it was found. Not part of any report: paths differ between machines.
struct PackInfo {
  enum class State : std::uint32_t { loaded, refused, skipped };

  std::string path;
  std::string origin;  ///< "named", "rules-dir", "environment", "user", "system", "standard"
  State state = State::loaded;
  std::string reason;  ///< why it was refused or skipped
  std::string id, version, vendor, sha256;
  std::vector<std::string> rules;  ///< ids, in the order of the pack
};

KVEDIT_API std::string_view to_text(PackInfo::State state);

/// Finds and loads rule packs once, then edits registrations.
/// Immutable after `open`; every member may be called from several threads at once.
class KVEDIT_API Host {
 public:
  /// Loads packs; runs their code. A pack that cannot be loaded is no error here: it is refused,
  /// shown by `packs`, and a problem of every result. Errors: a directory that cannot be
  /// read, and a `standard_rules_dir` without a rule pack.
  static Expected<Host> open(const HostOptions& options);

  /// From facts to proved views: exclude, validate, match, prove, present, audit. Touches no tensor
  /// memory. The same registration and rules give the same result, byte for byte.
  Result edit(const Registration& registration, const EditOptions& options = {}) const;

  /// In the order in which they are asked.
  std::span<const RuleInfo> rules() const;
  /// Everything found, in the order in which it was looked at.
  std::span<const PackInfo> packs() const;
  /// Packs refused or missing.
  std::span<const Problem> problems() const;

 private:
  struct State;
  explicit Host(std::shared_ptr<const State> state) : state_(std::move(state)) {}

  std::shared_ptr<const State> state_;
};

}  // namespace kvedit
