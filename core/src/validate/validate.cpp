#include "validate/validate.hpp"

#include <optional>

#include "base/text.hpp"

namespace kvedit::validate {
namespace {

std::string named(const GroupFacts& group) {
  std::string name = text("group ", group.index);
  if (group.layers.empty()) return name + " (no layers)";
  return text(name, " (", group.layers.size(), group.layers.size() == 1 ? " layer" : " layers",
              ", first ", group.layers.front(), ")");
}

Problem problem(const GroupFacts& group, Severity severity, Code code, std::string message) {
  Problem made;
  made.severity = severity;
  made.code = code;
  made.group = group.index;
  if (!group.layers.empty()) made.layer = group.layers.front();
  made.message = text(named(group), ": ", message);
  return made;
}

Severity severity_for(Purpose purpose) {
  return purpose == Purpose::transfer ? Severity::warning : Severity::error;
}

std::optional<Problem> cross_attention(const GroupFacts& group, Purpose purpose) {
  for (const LayerFacts& leaf : group.leaves)
    if (leaf.spec->kind == Kind::cross_attention || group.group->spec.kind == Kind::cross_attention)
      return problem(group, severity_for(purpose), Code::cross_attention,
                     text(leaf.spec->type,
                          " keeps encoder states, which are not found again by a token prefix; "
                          "exclude the group (enable_kv_transfer false) or use purpose transfer"));
  return std::nullopt;
}

bool no_snapshots(const Spec& spec) {
  return spec.recurrent() && spec.mamba_cache_mode != "align" && spec.mamba_cache_mode != "all";
}

std::optional<Problem> mamba_cache_mode(const GroupFacts& group, Purpose purpose) {
  for (const LayerFacts& leaf : group.leaves) {
    const std::string& mode = leaf.spec->mamba_cache_mode;
    if (!no_snapshots(*leaf.spec)) continue;
    Problem found =
        problem(group, severity_for(purpose), Code::mamba_cache_mode,
                text("mamba_cache_mode is ", mode,
                     ", so no block holds a state that can be used again; start the engine with "
                     "mamba_cache_mode align or all"));
    found.facts.push_back({"mamba_cache_mode", mode});
    return found;
  }
  return std::nullopt;
}

std::optional<Problem> by_pack(const GroupFacts& group, const Validator& validator) {
  const Answer answer =
      validator.validate(group.leaves, static_cast<std::int64_t>(group.layers.size()));
  if (answer.verdict == Verdict::no_match) return std::nullopt;
  const bool refused = answer.verdict == Verdict::refuse;
  Problem found =
      problem(group, Severity::error, refused ? Code::unsupported_spec : Code::rule_misbehaved,
              text("the validator of pack ", validator.pack(),
                   refused ? " refuses it: " : " failed: ", answer.reason));
  found.facts = answer.facts;
  return found;
}

}  // namespace

bool objectionable(const Spec& spec) {
  return spec.kind == Kind::cross_attention || no_snapshots(spec);
}

std::vector<Problem> validate(const GroupFacts& group, Purpose purpose, const RuleBook& book) {
  std::vector<Problem> problems;
  if (auto found = cross_attention(group, purpose)) problems.push_back(*found);
  if (auto found = mamba_cache_mode(group, purpose)) problems.push_back(*found);
  for (const auto& validator : book.validators)
    if (auto found = by_pack(group, *validator)) problems.push_back(*found);
  return problems;
}

}  // namespace kvedit::validate
