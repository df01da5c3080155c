#include "given.hpp"

#include <algorithm>

#include <catch2/catch.hpp>

namespace kvedit::golden {

const Host& standard_host() {
  static const Host host = [] {
    HostOptions options;
    options.standard_rules_dir = KVEDIT_RULES_DIR;
    Expected<Host> opened = Host::open(options);
    if (!opened) FAIL(opened.error().text());
    return *opened;
  }();
  return host;
}

RegistrationData given_registration(const std::string& name) {
  const Expected<Registration> registration = read_registration(registration_text(name));
  if (!registration) FAIL(name + ": " + registration.error().text());
  return registration->data();
}

std::array<std::int64_t, 4> some_blocks(std::int64_t blocks) {
  return {0, std::min<std::int64_t>(1, blocks - 1), blocks / 2, blocks - 1};
}

Spans expected_owned(const ExpectedLayer& layer, std::int64_t block, const RegistrationData& data) {
  std::vector<Span> runs;
  for (const auto& [storage, ranges] : layer.owned)
    for (const auto& [begin, length] : ranges)
      runs.push_back({storage_index(data, storage), begin, begin + length});
  const Spans first = united(std::move(runs));
  const Spans payload = spans_of(layer.parts, 0, data);
  if (first == payload) return spans_of(layer.parts, block, data);
  return moved(first,
               spans_of(layer.parts, block, data).runs.front().begin - payload.runs.front().begin);
}

std::set<std::string> error_codes(const Result& result) {
  std::set<std::string> codes;
  for (const Problem& problem : result.problems())
    if (problem.severity == Severity::error) codes.emplace(to_text(problem.code));
  return codes;
}

std::string problems_of(const Result& result) {
  std::string text;
  for (const Problem& problem : result.problems())
    text += std::string(to_text(problem.code)) + ": " + problem.message + "\n";
  return text;
}

}  // namespace kvedit::golden
