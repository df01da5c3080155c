#include <unistd.h>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string_view>

#include <CLI/CLI.hpp>
#include <kvedit/json.hpp>
#include <kvedit/printable.hpp>

#include "command.hpp"

namespace kvedit::cli {
namespace {

struct Close {
  void operator()(std::FILE* file) const {
    if (file != stdin) std::fclose(file);
  }
};

}  // namespace

void PackOptions::add_to(CLI::App& command) {
  command
      .add_option("--rules-dir", rules_dirs, "Look for rule packs in this directory (repeatable)")
      ->type_name("DIR")
      ->allow_extra_args(false);
  command.add_option("--pack", packs, "Load this rule pack (repeatable)")
      ->type_name("FILE")
      ->allow_extra_args(false);
  command.add_flag("--no-standard-rules", no_standard_rules,
                   "Leave out the rules that come with kvedit");
}

Expected<Host> PackOptions::open() const {
  HostOptions options;
  options.packs = packs;
  options.rule_dirs = rules_dirs;
  options.standard_rules = !no_standard_rules;
  options.environment = true;
  return Host::open(options);
}

Expected<std::string> read_input(const std::string& path) {
  const std::string name = path == "-" ? "standard input" : path;
  const std::unique_ptr<std::FILE, Close> file(path == "-" ? stdin
                                                           : std::fopen(path.c_str(), "rb"));
  if (!file) return Error{name, std::string("cannot be opened: ") + std::strerror(errno)};
  const std::size_t most = ReadLimits{}.bytes;
  std::string all;
  std::string piece(std::size_t{1} << 16, '\0');
  while (const std::size_t got = std::fread(piece.data(), 1, piece.size(), file.get())) {
    all.append(piece, 0, got);
    if (all.size() > most)
      return Error{name, "larger than " + std::to_string(most) + " bytes; that is no registration"};
  }
  if (std::ferror(file.get()))
    return Error{name, std::string("cannot be read: ") + std::strerror(errno)};
  return all;
}

Expected<Registration> registration_in(const std::string& path) {
  const auto text = read_input(path);
  if (!text) return text.error();
  auto read = read_registration(*text);
  if (!read) return Error{path, read.error().text()};
  return read;
}

int unreadable(const std::string& why) {
  std::fprintf(stderr, "kvedit: %s\n", printable(why).c_str());
  return exit_unreadable;
}

int print(const std::string& words, int code) {
  const bool written = std::fwrite(words.data(), 1, words.size(), stdout) == words.size();
  if (!written || std::fflush(stdout) != 0)
    return unreadable(std::string("standard output cannot be written: ") + std::strerror(errno));
  return code;
}

bool wants_colours() {
  const auto variable = [](const char* name) -> std::string_view {
    const char* value = std::getenv(name);
    return value ? value : "";
  };
  return isatty(STDOUT_FILENO) != 0 && variable("NO_COLOR").empty() && !variable("TERM").empty() &&
         variable("TERM") != "dumb";
}

}  // namespace kvedit::cli
