#include <memory>
#include <optional>

#include <CLI/CLI.hpp>
#include <kvedit/explain.hpp>
#include <kvedit/json.hpp>

#include "command.hpp"

namespace kvedit::cli {
namespace {

struct Explain {
  std::string file, profile = "native", purpose = "prefix", recurrent;
  std::optional<std::string> layer;
  bool json = false;
  PackOptions packs;

  int run() const {
    if (file.empty())
      return unreadable("explain needs a FILE, or - for standard input (kvedit explain --help)");
    EditOptions options;
    const auto known_profile = find_profile(profile);
    if (!known_profile)
      return unreadable("--profile " + profile + ": native, packed, bytes or lmcache");
    options.profile = *known_profile;
    const auto known_purpose = find_purpose(purpose);
    if (!known_purpose) return unreadable("--purpose " + purpose + ": prefix or transfer");
    options.purpose = *known_purpose;
    if (!recurrent.empty()) {
      const auto known_rows = find_recurrent_rows(recurrent);
      if (!known_rows) return unreadable("--recurrent " + recurrent + ": tight or page");
      if (options.profile != Profile::lmcache)
        return unreadable("--recurrent goes with --profile lmcache");
      options.recurrent_rows = *known_rows;
    }

    const auto text = read_input(file);
    if (!text) return unreadable(text.error().text());
    const auto registration = read_registration(*text);
    if (!registration) return unreadable(file + ": " + registration.error().text());
    const auto host = packs.open();
    if (!host) return unreadable(host.error().text());
    return show(host->edit(*registration, options));
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
  command
      ->add_option("--profile", explain->profile,
                   "Shape of the views: native, packed, bytes or lmcache [native]")
      ->type_name("PROFILE");
  command
      ->add_option("--purpose", explain->purpose,
                   "What the bytes are moved for: prefix or transfer [prefix]")
      ->type_name("PURPOSE");
  command
      ->add_option("--recurrent", explain->recurrent,
                   "Rows of recurrent states in profile lmcache: tight, or the whole page [tight]")
      ->type_name("ROWS");
  explain->packs.add_to(*command);
  command->callback([explain, &code] { code = explain->run(); });
}

}  // namespace kvedit::cli
