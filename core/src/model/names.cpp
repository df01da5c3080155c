#include <array>
#include <cstddef>

#include <kvedit/host.hpp>
#include <kvedit/options.hpp>
#include <kvedit/problem.hpp>
#include <kvedit/result.hpp>
#include <kvedit/spec.hpp>

namespace kvedit {
namespace {

template <std::size_t N, class E>
std::string_view name_of(const std::array<std::string_view, N>& names, E value) {
  const auto at = static_cast<std::size_t>(value);
  return at < N ? names[at] : "?";
}

template <class E, std::size_t N>
std::optional<E> value_of(const std::array<std::string_view, N>& names, std::string_view name) {
  for (std::size_t i = 0; i < N; ++i)
    if (names[i] == name) return static_cast<E>(i);
  return std::nullopt;
}

constexpr std::array<std::string_view, 10> kinds = {
    "unknown",
    "full_attention",
    "mla_attention",
    "sliding_window",
    "sliding_window_mla",
    "mamba",
    "chunked_local_attention",
    "sink_full_attention",
    "encoder_only_attention",
    "cross_attention",
};
constexpr std::array<std::string_view, 4> profiles = {"native", "packed", "bytes", "lmcache"};
constexpr std::array<std::string_view, 2> purposes = {"prefix", "transfer"};
constexpr std::array<std::string_view, 2> recurrent_rows = {"tight", "page"};
constexpr std::array<std::string_view, 2> severities = {"error", "warning"};
constexpr std::array<std::string_view, 19> codes = {
    "cross-attention",
    "mamba-cache-mode",
    "unsupported-spec",
    "missing-cache",
    "missing-spec",
    "bad-geometry",
    "granularity-mismatch",
    "not-tiled",
    "block-count",
    "outside-page",
    "incomplete",
    "overlap",
    "misaligned",
    "placement-mismatch",
    "rule-failed",
    "rule-misbehaved",
    "pack-refused",
    "pack-missing",
    "profile",
};
constexpr std::array<std::string_view, 7> roles = {"block", "kernel_page", "kv",    "head",
                                                   "token", "content",     "opaque"};
constexpr std::array<std::string_view, 5> outcomes = {"edited", "passed", "scratch", "excluded",
                                                      "failed"};
constexpr std::array<std::string_view, 4> group_outcomes = {"served", "scratch", "excluded",
                                                            "refused"};
constexpr std::array<std::string_view, 4> verdicts = {"no-match", "match", "refuse", "error"};
constexpr std::array<std::string_view, 5> retentions = {"full", "window", "chunk", "recurrent",
                                                        "scratch"};
constexpr std::array<std::string_view, 5> forms = {"kv-axis", "kv-tensors", "k-beside-v", "key",
                                                   "latent"};
constexpr std::array<std::string_view, 3> states = {"loaded", "refused", "skipped"};

}  // namespace

std::string_view to_text(Kind kind) { return name_of(kinds, kind); }
std::string_view to_text(Profile profile) { return name_of(profiles, profile); }
std::string_view to_text(Purpose purpose) { return name_of(purposes, purpose); }
std::string_view to_text(RecurrentRows rows) { return name_of(recurrent_rows, rows); }
std::string_view to_text(Severity severity) { return name_of(severities, severity); }
std::string_view to_text(Code code) { return name_of(codes, code); }
std::string_view to_text(Role role) { return name_of(roles, role); }
std::string_view to_text(Outcome outcome) { return name_of(outcomes, outcome); }
std::string_view to_text(GroupOutcome outcome) { return name_of(group_outcomes, outcome); }
std::string_view to_text(Verdict verdict) { return name_of(verdicts, verdict); }
std::string_view to_text(Retention retention) { return name_of(retentions, retention); }
std::string_view to_text(Content::Form form) { return name_of(forms, form); }
std::string_view to_text(PackInfo::State state) { return name_of(states, state); }

std::optional<Kind> find_kind(std::string_view name) { return value_of<Kind>(kinds, name); }
std::optional<Profile> find_profile(std::string_view name) {
  return value_of<Profile>(profiles, name);
}
std::optional<Purpose> find_purpose(std::string_view name) {
  return value_of<Purpose>(purposes, name);
}
std::optional<RecurrentRows> find_recurrent_rows(std::string_view name) {
  return value_of<RecurrentRows>(recurrent_rows, name);
}

}  // namespace kvedit
