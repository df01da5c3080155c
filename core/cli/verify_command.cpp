#include <cstdint>
#include <memory>
#include <optional>

#include <CLI/CLI.hpp>
#include <kvedit/explain.hpp>
#include <kvedit/json.hpp>

#include "command.hpp"
#include "progress.hpp"
#include "verify/verify.hpp"

namespace kvedit::cli {
namespace {

constexpr const char* footer =
    "Memory is reserved in this process exactly as registered, at full size, and committed only\n"
    "where blocks are moved: no GPU, no engine, no libtorch. For every served layer, with real "
    "bytes:\n"
    "  - some blocks (first, last, middle, scattered) are stored through the page map, wiped, and\n"
    "    brought back under other ids; once more through the views, element by element;\n"
    "  - every payload byte is compared with what a plain walk over the registered tensors says "
    "it\n"
    "    must be; so are padding, neighbouring blocks and the bytes around them;\n"
    "  - the naive reading (entry b of the first axis is block b) is moved the same way, and "
    "shown.\n"
    "\n"
    "Exit codes: 0 all as it must be; 1 the registration is refused (shown as by explain), or "
    "bytes\n"
    "went wrong; 2 the command or its input cannot be read, or memory cannot be reserved.\n"
    "\n"
    "Examples:\n"
    "  kvedit verify dump.json\n"
    "  kvedit verify dump.json --group 3 --blocks 16 --seed 7\n"
    "  kvedit verify - --json < dump.json\n";

struct Verify {
  std::string file;
  EditChoices choices;
  verify::Options options;
  bool json = false;
  PackOptions packs;

  int run() {
    if (file.empty())
      return unreadable("verify needs a FILE, or - for standard input (kvedit verify --help)");
    const auto edit_options = choices.read();
    if (!edit_options) return unreadable(edit_options.error().text());
    const auto registration = registration_in(file);
    if (!registration) return unreadable(registration.error().text());
    const auto host = packs.open();
    if (!host) return unreadable(host.error().text());
    return move(host->edit(*registration, *edit_options));
  }

  int move(const Result& result) {
    if (!result.ok())
      return print(
          json ? verify::in_json(result, nullptr) : explain(result, TextOptions{wants_colours()}),
          exit_problems);
    const auto report = with_progress(result);
    if (!report) return unreadable(file + ": " + report.error().text());
    return print(json ? verify::in_json(result, &*report) : verify::in_words(result, *report),
                 report->ok() ? exit_ok : exit_problems);
  }

  Expected<verify::Report> with_progress(const Result& result) {
    Progress progress("moving blocks");
    options.progress = [&progress](std::size_t done, std::size_t of) { progress.show(done, of); };
    return verify::verify(result, options);
  }
};

void add_options(CLI::App& command, Verify& verify) {
  command.add_option("FILE", verify.file,
                     "A registration (kvedit.registration/1); - reads standard input");
  command.add_flag("--json", verify.json, "Print kvedit.verify/1 and nothing else");
  command.add_option("--group", verify.options.group, "Move the layers of this group only")
      ->type_name("INDEX");
  command.add_option("--layer", verify.options.layer, "Move this layer only")->type_name("NAME");
  command
      .add_option("--blocks", verify.options.blocks,
                  "Blocks to move in each group [4, fewer where that commits a GiB]")
      ->type_name("N")
      ->check(CLI::Range(std::size_t{1}, std::size_t{1} << 20));
  command
      .add_option("--seed", verify.options.seed,
                  "Chooses scattered blocks and the bytes they hold [1]")
      ->type_name("N")
      ->check([](const std::string& given) -> std::string {
        const bool digits = given.find_first_not_of("0123456789") == std::string::npos;
        return digits && !given.empty() && given.size() < 19 ? ""
                                                             : "a number below 10^18 is wanted";
      });
  verify.choices.add_to(command);
}

}  // namespace

void add_verify(CLI::App& program, int& code) {
  CLI::App* command = program.add_subcommand(
      "verify", "Store, wipe and bring back real bytes of every layer, and compare them");
  const auto verify = std::make_shared<Verify>();
  add_options(*command, *verify);
  verify->packs.add_to(*command);
  command->footer(footer);
  command->callback([verify, &code] { code = verify->run(); });
}

}  // namespace kvedit::cli
