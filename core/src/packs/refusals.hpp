#pragma once

#include <string>
#include <vector>

#include <kvedit/problem.hpp>

#include "packs/find.hpp"

namespace kvedit {

/// What a report says about packs that were refused or are missing. Names files without their
/// directories, for the report is the same on every machine.
std::vector<Problem> refusals(const std::vector<FoundFile>& files,
                              const std::vector<std::string>& required_packs);

}  // namespace kvedit
