#include <CLI/CLI.hpp>

#include "command.hpp"

namespace kvedit::cli {

void EditChoices::add_to(CLI::App& command) {
  command.add_option("--profile", profile, "Shape of the views: native, packed or bytes [native]")
      ->type_name("PROFILE");
  command
      .add_option("--purpose", purpose, "What the bytes are moved for: prefix or transfer [prefix]")
      ->type_name("PURPOSE");
}

Expected<EditOptions> EditChoices::read() const {
  EditOptions options;
  const auto known_profile = find_profile(profile);
  if (!known_profile)
    return Error{"", "--profile " + profile + ": this version knows native, packed and bytes"};
  options.profile = *known_profile;
  const auto known_purpose = find_purpose(purpose);
  if (!known_purpose) return Error{"", "--purpose " + purpose + ": prefix or transfer"};
  options.purpose = *known_purpose;
  return options;
}

}  // namespace kvedit::cli
