#include "match/claim.hpp"

#include "base/text.hpp"

namespace kvedit::match {
namespace {

Failure misbehaved(const Answer& answer) {
  return {
      Code::rule_misbehaved,
      text("it failed instead of answering: ", answer.reason, "; remove or update its rule pack"),
      answer.facts};
}

Failure changed(const Answer& first, const Answer& second) {
  if (first.verdict == second.verdict && first.reason == second.reason)
    return {Code::rule_misbehaved,
            text("asked twice, it answered ", to_text(first.verdict), " (", first.reason, ") with ",
                 first.plan == second.plan ? "other facts" : "another plan",
                 " the second time; rules must be pure. Remove or update its rule pack"),
            {}};
  return {Code::rule_misbehaved,
          text("it answered ", to_text(first.verdict), " (", first.reason, ") and, asked again, ",
               to_text(second.verdict), " (", second.reason,
               "); rules must be pure. Remove or update its rule pack"),
          {}};
}

}  // namespace

void claim(LayerClass& of, const RuleBook& book) {
  of.tried.reserve(book.rules.size());
  for (std::uint32_t r = 0; r < book.rules.size(); ++r) {
    Answer answer = book.rules[r]->answer(of.facts);
    if (answer.verdict == Verdict::no_match) {
      of.tried.push_back({r, answer.verdict, std::move(answer.reason)});
      continue;
    }
    of.tried.push_back({r, answer.verdict, answer.reason});
    of.rule = static_cast<std::int32_t>(r);
    if (answer.verdict == Verdict::error) {
      of.failure = misbehaved(answer);
    } else if (const Answer again = book.rules[r]->answer(of.facts); again != answer) {
      of.failure = changed(answer, again);
    } else if (answer.verdict == Verdict::refuse) {
      of.failure = Failure{Code::rule_failed, answer.reason, answer.facts};
    } else {
      of.plan = std::move(answer.plan);
    }
    return;
  }
}

}  // namespace kvedit::match
