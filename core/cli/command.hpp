#pragma once

#include <string>
#include <vector>

#include <kvedit/error.hpp>
#include <kvedit/host.hpp>

namespace CLI {
class App;
}

namespace kvedit::cli {

// Exit codes: docs/formats.md, section 3.
constexpr int exit_ok = 0;
constexpr int exit_problems = 1;
constexpr int exit_unreadable = 2;

/// Which packs a command loads; shared by all commands.
struct PackOptions {
  std::vector<std::string> rules_dirs;
  std::vector<std::string> packs;
  bool no_standard_rules = false;

  void add_to(CLI::App& command);
  Expected<Host> open() const;
};

/// What a registration is edited for; shared by commands that edit one.
struct EditChoices {
  std::string profile = "native", purpose = "prefix", recurrent;

  void add_to(CLI::App& command);
  /// The error names the option.
  Expected<EditOptions> read() const;
};

/// A whole file, or standard input for `-`. The error names the path.
Expected<std::string> read_input(const std::string& path);

/// The registration in such a file. The error names the path and where in the file.
Expected<Registration> registration_in(const std::string& path);

/// One line on standard error; gives exit_unreadable.
int unreadable(const std::string& why);

/// Writes to standard output; gives `code`, or exit_unreadable when it cannot be written.
int print(const std::string& words, int code);

/// Standard output is a terminal that wants colours.
bool wants_colours();

/// Registers the command; its callback puts the exit code into `code`.
void add_diff(CLI::App& program, int& code);
void add_explain(CLI::App& program, int& code);
void add_rules(CLI::App& program, int& code);
void add_verify(CLI::App& program, int& code);

}  // namespace kvedit::cli
