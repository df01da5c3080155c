#include <cstdio>
#include <exception>
#include <sstream>

#include <CLI/CLI.hpp>
#include <kvedit/version.hpp>

#include "command.hpp"

namespace {

constexpr const char* about =
    "kvedit tells what the bytes of a KV cache mean: which bytes block id n owns in every layer, "
    "proved from what the engine registered.";

constexpr const char* footer =
    "Exit codes: 0 everything is proved and served; 1 something is wrong with the registration or "
    "a\n"
    "rule pack, shown in full; 2 the command or its input cannot be read.\n"
    "Rule packs are looked for in --pack, --rules-dir, the directories of KVEDIT_RULE_PATH, "
    "rules.d\n"
    "of the user's and the system's configuration directories, and beside the library.\n"
    "\n"
    "Examples:\n"
    "  kvedit explain dump.json                 the whole registration\n"
    "  kvedit explain dump.json --layer NAME    one layer, and what every rule said about it\n"
    "  kvedit explain - --json < dump.json      for programs\n"
    "  kvedit rules                             the rules in effective order\n"
    "  kvedit diff a.json b.json                may the two share stored entries?\n"
    "  kvedit verify dump.json                  store, wipe, bring back real bytes\n";

int run(int argc, char** argv) {
  CLI::App program(about, "kvedit");
  program.set_version_flag("--version", "kvedit " KVEDIT_VERSION);
  program.footer(footer);
  int code = kvedit::cli::exit_ok;
  kvedit::cli::add_explain(program, code);
  kvedit::cli::add_rules(program, code);
  kvedit::cli::add_diff(program, code);
  kvedit::cli::add_verify(program, code);
  try {
    program.parse(argc, argv);
    if (program.get_subcommands().empty())
      return kvedit::cli::unreadable(
          "which command? explain, rules, diff or verify (kvedit --help shows how)");
  } catch (const CLI::Success& asked) {
    std::ostringstream words;
    program.exit(asked, words);
    return kvedit::cli::print(words.str(), kvedit::cli::exit_ok);
  } catch (const CLI::ParseError& error) {
    return kvedit::cli::unreadable(std::string(error.what()) + " (kvedit --help shows how)");
  }
  return code;
}

}  // namespace

int main(int argc, char** argv) {
  try {
    return run(argc, argv);
  } catch (const std::exception& error) {
    std::fprintf(stderr,
                 "kvedit: internal error: %s\nThis is a fault of kvedit: please report it together "
                 "with the registration.\n",
                 error.what());
    return kvedit::cli::exit_unreadable;
  }
}
