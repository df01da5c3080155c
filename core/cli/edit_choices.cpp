#include <CLI/CLI.hpp>

#include "command.hpp"

namespace kvedit::cli {

void EditChoices::add_to(CLI::App& command) {
  command
      .add_option("--profile", profile,
                  "Shape of the views: native, packed, bytes or lmcache [native]")
      ->type_name("PROFILE");
  command
      .add_option("--purpose", purpose, "What the bytes are moved for: prefix or transfer [prefix]")
      ->type_name("PURPOSE");
  command
      .add_option("--recurrent", recurrent,
                  "Rows of recurrent states in profile lmcache: tight, or the whole page [tight]")
      ->type_name("ROWS");
}

Expected<EditOptions> EditChoices::read() const {
  EditOptions options;
  const auto known_profile = find_profile(profile);
  if (!known_profile)
    return Error{"", "--profile " + profile + ": native, packed, bytes or lmcache"};
  options.profile = *known_profile;
  const auto known_purpose = find_purpose(purpose);
  if (!known_purpose) return Error{"", "--purpose " + purpose + ": prefix or transfer"};
  options.purpose = *known_purpose;
  if (recurrent.empty()) return options;
  const auto known_rows = find_recurrent_rows(recurrent);
  if (!known_rows) return Error{"", "--recurrent " + recurrent + ": tight or page"};
  if (options.profile != Profile::lmcache)
    return Error{"", "--recurrent goes with --profile lmcache"};
  options.recurrent_rows = *known_rows;
  return options;
}

}  // namespace kvedit::cli
