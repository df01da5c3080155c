#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include <kvedit/result.hpp>

namespace kvedit {

/// A rule of a loaded pack.
struct LoadedRule {
  std::size_t pack = 0;     // index into the loaded packs
  std::uint32_t index = 0;  // of the rule in its pack
  std::uint32_t tier = 0;   // KVEDIT_TIER_…
  RuleInfo info;
};

std::string tier_name(std::uint32_t tier);

/// By tier (vendor, standard, fallback), priority (high first), pack id, rule id.
void put_in_order(std::vector<LoadedRule>& rules);

}  // namespace kvedit
