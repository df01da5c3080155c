#pragma once

#include <vector>

#include <kvedit/error.hpp>
#include <kvedit/host.hpp>
#include <kvedit/options.hpp>

#include "model/rule.hpp"

namespace kvedit {

struct OpenedPacks {
  RuleBook book;
  std::vector<PackInfo> infos;  // everything looked at, in that order
};

/// Loads the packs that the options allow and makes rules of them.
/// Errors: a directory that must be there and cannot be read.
Expected<OpenedPacks> open_packs(const HostOptions& options);

}  // namespace kvedit
