#include <memory>
#include <optional>

#include <CLI/CLI.hpp>
#include <kvedit/explain.hpp>
#include <kvedit/json.hpp>

#include "command.hpp"

namespace kvedit::cli {
namespace {

struct Explain {
  std::string file;
  EditChoices choices;
  std::optional<std::string> layer;
  bool json = false;
  PackOptions packs;

  int run() const {
    if (file.empty())
      return unreadable("explain needs a FILE, or - for standard input (kvedit explain --help)");
    const auto options = choices.read();
    if (!options) return unreadable(options.error().text());

    const auto registration = registration_in(file);
    if (!registration) return unreadable(registration.error().text());
    const auto host = packs.open();
    if (!host) return unreadable(host.error().text());
    return show(host->edit(*registration, *options));
  }

  int show(const Result& result) const {
    const int code = result.ok() ? exit_ok : exit_problems;
    if (json) return print(write_report(result), code);
    const TextOptions options{wants_colours()};
    if (!layer) return print(explain(result, options), code);
    const auto found = result.find_layer(*layer);
    if (!found)
      return unreadable("--layer " + *layer + ": no layer or cache of " + file + " has that name");
    return print(explain_layer(result, *found, options), code);
  }
};

}  // namespace

void add_explain(CLI::App& program, int& code) {
  CLI::App* command = program.add_subcommand(
      "explain", "Show what the block ids of a registration mean, and prove it");
  const auto explain = std::make_shared<Explain>();
  command->add_option("FILE", explain->file,
                      "A registration (kvedit.registration/1); - reads "
                      "standard input");
  command->add_flag("--json", explain->json, "Print the report (kvedit.report/1) and nothing else");
  command->add_option("--layer", explain->layer, "Show everything about one layer")
      ->type_name("NAME")
      ->excludes("--json");
  explain->choices.add_to(*command);
  explain->packs.add_to(*command);
  command->callback([explain, &code] { code = explain->run(); });
}

}  // namespace kvedit::cli
