#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include <kvedit/export.hpp>

namespace kvedit {

enum class Severity : std::uint32_t { error, warning };

/// What is wrong; the names of `docs/formats.md`, "Problem codes".
enum class Code : std::uint32_t {
  cross_attention,
  mamba_cache_mode,
  unsupported_spec,
  missing_cache,
  missing_spec,
  bad_geometry,
  granularity_mismatch,
  not_tiled,
  block_count,
  outside_page,
  incomplete,
  overlap,
  misaligned,
  placement_mismatch,
  rule_failed,
  rule_misbehaved,
  pack_refused,
  pack_missing,
  profile,
};

KVEDIT_API std::string_view to_text(Severity severity);
KVEDIT_API std::string_view to_text(Code code);

/// A number or a word behind a message, for programs.
struct Fact {
  std::string name;
  std::variant<std::int64_t, std::string> value;

  bool operator==(const Fact&) const = default;
};

struct Problem {
  Severity severity = Severity::error;
  Code code = Code::bad_geometry;
  std::int32_t group = -1;  ///< index, or -1
  std::string layer;        ///< the first layer concerned, or empty
  std::string rule;         ///< rule id, or empty
  std::string message;      ///< names layer, group, rule, the numbers compared, what to do
  std::vector<Fact> facts;

  bool operator==(const Problem&) const = default;
};

}  // namespace kvedit
