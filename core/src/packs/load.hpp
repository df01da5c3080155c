#pragma once

#include <filesystem>
#include <string>

#include <kvedit/rule_abi.h>
#include <kvedit/error.hpp>

#include "packs/descriptor.hpp"

namespace kvedit {

/// The tables of a pack in this process; valid until it ends, for packs are never unloaded.
struct PackTables {
  const kvedit_rule_pack* rules = nullptr;
  const kvedit_validate_v1* validator = nullptr;  // or null
};

/// Loads the pack and shakes hands with it; runs its code. Once for each file of the process.
/// The error says why the pack cannot be used. Any thread.
/// @param file        without links
/// @param descriptor  what the file says of itself
Expected<PackTables> load_pack(const std::filesystem::path& file, const PackDescriptor& descriptor,
                               const std::string& sha256);

}  // namespace kvedit
