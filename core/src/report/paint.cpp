#include "report/paint.hpp"

#include <algorithm>

#include "base/text.hpp"
#include "base/utf8.hpp"

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

/// The C0 and C1 sets and DEL; terminals also obey C1 in UTF-8.
bool controls(std::string_view letter) {
  const auto first = static_cast<unsigned char>(letter[0]);
  if (letter.size() == 1) return first < 0x20 || first == 0x7f;
  return first == 0xc2 && static_cast<unsigned char>(letter[1]) < 0xa0;
}

std::string escaped(char c) {
  constexpr std::string_view digits = "0123456789abcdef";
  const auto byte = static_cast<unsigned char>(c);
  return {'\\', 'x', digits[byte >> 4], digits[byte & 15]};
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

std::string Painter::clean(std::string_view words) {
  std::string shown;
  while (!words.empty()) {
    const std::size_t size = utf8_sequence(words);
    const std::string_view letter = words.substr(0, std::max<std::size_t>(size, 1));
    if (size > 0 && !controls(letter))
      shown += letter;
    else
      for (const char c : letter) shown += escaped(c);
    words.remove_prefix(letter.size());
  }
  return shown;
}

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
