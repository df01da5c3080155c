#include "json/problem_writer.hpp"

#include <algorithm>
#include <optional>
#include <vector>

namespace kvedit {
namespace {

void write_facts(TextWriter& out, const std::vector<Fact>& facts) {
  out.key("facts");
  out.open_object();
  for (auto fact = facts.begin(); fact != facts.end(); ++fact) {
    // A rule may name a fact twice; an object may not.
    const auto first = std::find_if(facts.begin(), fact,
                                    [&](const Fact& other) { return other.name == fact->name; });
    if (first != fact) continue;
    std::visit([&](const auto& value) { out.member(fact->name, value); }, fact->value);
  }
  out.close();
}

}  // namespace

void write(TextWriter& out, const Problem& problem) {
  out.open_object();
  out.member("severity", to_text(problem.severity));
  out.member("code", to_text(problem.code));
  write_group(out, "group", problem.group);
  out.member_or_null("layer", problem.layer);
  out.member_or_null("rule", problem.rule);
  out.member("message", problem.message);
  write_facts(out, problem.facts);
  out.close();
}

void write_group(TextWriter& out, std::string_view name, std::int32_t group) {
  out.member_or_null(name, group < 0 ? std::nullopt : std::optional<std::int64_t>(group));
}

}  // namespace kvedit
