#pragma once

#include <string>
#include <vector>

#include <kvedit/error.hpp>
#include <kvedit/host.hpp>
#include <kvedit/options.hpp>

#include "packs/load.hpp"
#include "packs/order.hpp"
#include "packs/places.hpp"

namespace kvedit {

struct LoadedPack {
  std::string id;
  PackTables tables;
};

struct LoadedPacks {
  std::vector<LoadedPack> packs;  // in the order in which they were looked at
  std::vector<LoadedRule> rules;  // in effective order
  std::vector<PackInfo> infos;    // everything looked at, in that order
  std::vector<Problem> problems;  // free of directories: the same on every machine
};

/// Finds, loads and orders the packs that the options allow; runs their code.
/// Errors: a directory that must be there and cannot be read.
Expected<LoadedPacks> load_packs(const HostOptions& options);
Expected<LoadedPacks> load_packs(const HostOptions& options, const Surroundings& surroundings);

}  // namespace kvedit
