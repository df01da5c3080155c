#include <memory>
#include <optional>

#include <CLI/CLI.hpp>
#include <kvedit/diff.hpp>
#include <kvedit/json.hpp>

#include "command.hpp"

namespace kvedit::cli {
namespace {

struct Diff {
  std::string file_a, file_b, purpose = "prefix";
  bool json = false;
  PackOptions packs;

  int run() const {
    if (file_a.empty() || file_b.empty())
      return unreadable("diff needs two registrations, A and B (kvedit diff --help)");
    if (file_a == "-" && file_b == "-")
      return unreadable("standard input can be one of A and B, not both");
    EditOptions options;
    const auto known_purpose = find_purpose(purpose);
    if (!known_purpose) return unreadable("--purpose " + purpose + ": prefix or transfer");
    options.purpose = *known_purpose;
    const auto a = registration_in(file_a);
    if (!a) return unreadable(a.error().text());
    const auto b = registration_in(file_b);
    if (!b) return unreadable(b.error().text());
    const auto host = packs.open();
    if (!host) return unreadable(host.error().text());
    return show(compare_layouts(host->edit(*a, options), host->edit(*b, options)));
  }

  int show(const LayoutDiff& diff) const {
    const int code = diff.may_share() ? exit_ok : exit_problems;
    if (json) return print(write_diff(diff), code);
    return print(explain_diff(diff, file_a, file_b, {wants_colours()}), code);
  }
};

}  // namespace

void add_diff(CLI::App& program, int& code) {
  CLI::App* command = program.add_subcommand(
      "diff", "Say whether two registrations may share stored entries, and why not");
  const auto diff = std::make_shared<Diff>();
  command->add_option("A", diff->file_a,
                      "A registration (kvedit.registration/1); - reads standard input");
  command->add_option("B", diff->file_b, "The other");
  command->add_flag("--json", diff->json, "Print kvedit.diff/1 and nothing else");
  command
      ->add_option("--purpose", diff->purpose,
                   "What the bytes are moved for: prefix or transfer [prefix]")
      ->type_name("PURPOSE");
  diff->packs.add_to(*command);
  command->callback([diff, &code] { code = diff->run(); });
}

}  // namespace kvedit::cli
