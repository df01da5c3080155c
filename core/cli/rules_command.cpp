#include <algorithm>
#include <memory>

#include <CLI/CLI.hpp>
#include <kvedit/json.hpp>
#include <kvedit/printable.hpp>

#include "command.hpp"

namespace kvedit::cli {
namespace {

using Row = std::vector<std::string>;

/// Of what packs and paths say.
Row shown(Row row) {
  for (std::string& cell : row) cell = printable(cell);
  return row;
}

std::string table(const std::vector<Row>& rows) {
  std::vector<std::size_t> widths;
  for (const Row& row : rows) {
    widths.resize(std::max(widths.size(), row.size()));
    for (std::size_t c = 0; c < row.size(); ++c) widths[c] = std::max(widths[c], row[c].size());
  }
  std::string all;
  for (const Row& row : rows) {
    std::string line;
    for (std::size_t c = 0; c < row.size(); ++c) {
      line += row[c];
      if (c + 1 < row.size()) line.append(widths[c] - row[c].size() + 2, ' ');
    }
    all += line + "\n";
  }
  return all;
}

std::string origin_of(const Host& host, const RuleInfo& rule) {
  for (const PackInfo& pack : host.packs())
    if (pack.state == PackInfo::State::loaded && pack.id == rule.pack)
      return pack.origin + ": " + pack.path;
  return "";
}

struct Rules {
  bool json = false;
  bool all = false;
  PackOptions packs;

  int run() const {
    const auto host = packs.open();
    if (!host) return unreadable(host.error().text());
    const bool wrong =
        std::any_of(host->problems().begin(), host->problems().end(),
                    [](const Problem& problem) { return problem.severity == Severity::error; });
    return print(json ? write_rules(*host) : words(*host), wrong ? exit_problems : exit_ok);
  }

  std::string words(const Host& host) const {
    std::vector<Row> rows = {{"RULE", "TIER", "PRIORITY", "VERSION", "PACK", "ORIGIN"}};
    for (const RuleInfo& rule : host.rules())
      rows.push_back(shown({rule.id, rule.tier, std::to_string(rule.priority), rule.version,
                            rule.pack, origin_of(host, rule)}));
    std::string text = host.rules().empty() ? "no rules\n" : table(rows);
    std::vector<Row> left;
    std::size_t skipped = 0;
    for (const PackInfo& pack : host.packs()) {
      if (pack.state == PackInfo::State::loaded) continue;
      skipped += pack.state == PackInfo::State::skipped;
      if (all || pack.state == PackInfo::State::refused)
        left.push_back(shown({std::string(to_text(pack.state)), pack.path, pack.reason}));
    }
    if (!left.empty()) text += "\n" + table(left);
    if (!all && skipped > 0)
      text += "\nskipped " + std::to_string(skipped) + (skipped == 1 ? " file" : " files") +
              "; --all shows which and why\n";
    return text;
  }
};

}  // namespace

void add_rules(CLI::App& program, int& code) {
  CLI::App* command = program.add_subcommand(
      "rules", "Show the rules in the order in which they are asked, and packs left out");
  const auto rules = std::make_shared<Rules>();
  command->add_flag("--json", rules->json, "Print kvedit.rules/1 and nothing else");
  command->add_flag("--all", rules->all,
                    "Also show skipped files: no rule packs, or looked at before");
  rules->packs.add_to(*command);
  command->callback([rules, &code] { code = rules->run(); });
}

}  // namespace kvedit::cli
