#include "report/paint.hpp"

#include <kvedit/printable.hpp>

#include "base/text.hpp"

namespace kvedit::report {
namespace {

std::string_view code_of(Ink ink) {
  switch (ink) {
    case Ink::strong:
      return "1";
    case Ink::good:
      return "32";
    case Ink::bad:
      return "1;31";
    case Ink::warning:
      return "33";
    case Ink::faint:
      return "2";
    case Ink::plain:
      break;
  }
  return "0";
}

std::string facts_of(const Problem& problem) {
  std::string facts;
  for (const Fact& fact : problem.facts) {
    facts += text(facts.empty() ? "" : ", ", fact.name, " ");
    if (const auto* number = std::get_if<std::int64_t>(&fact.value))
      append(facts, *number);
    else
      facts += std::get<std::string>(fact.value);
  }
  return facts;
}

}  // namespace

std::string Painter::paint(Ink ink, std::string_view words) const {
  const std::string shown = clean(words);
  if (!colours_ || ink == Ink::plain) return shown;
  return text("\033[", code_of(ink), "m", shown, "\033[0m");
}

std::string Painter::clean(std::string_view words) { return printable(words); }

std::string list(std::span<const std::int64_t> numbers) {
  std::string all = "[";
  for (const std::int64_t number : numbers) {
    if (all.size() > 1) all += ", ";
    append(all, number);
  }
  return all + "]";
}

std::string counted(std::int64_t count, std::string_view singular, std::string_view plural) {
  return text(count, " ", count == 1 ? singular : plural);
}

std::string padded(std::string_view words, std::size_t width) {
  std::string all(words);
  if (all.size() < width) all.append(width - all.size(), ' ');
  return all;
}

std::string problems(const Result& result, const Painter& painter) {
  std::string all;
  for (const Problem& problem : result.problems()) {
    const bool error = problem.severity == Severity::error;
    all += text(painter.paint(error ? Ink::bad : Ink::warning,
                              text(to_text(problem.severity), " ", to_text(problem.code))),
                ": ", Painter::clean(problem.message), "\n");
    if (const std::string facts = facts_of(problem); !facts.empty())
      all += text("  ", painter.paint(Ink::faint, facts), "\n");
  }
  return all;
}

}  // namespace kvedit::report
