#include "packs/order.hpp"

#include <kvedit/rule_abi.h>

#include <algorithm>
#include <tuple>

namespace kvedit {
namespace {

static_assert(KVEDIT_TIER_VENDOR < KVEDIT_TIER_STANDARD &&
              KVEDIT_TIER_STANDARD < KVEDIT_TIER_FALLBACK);

auto place(const LoadedRule& rule) {
  const std::int64_t lower_first = -std::int64_t{rule.info.priority};
  return std::tuple(rule.tier, lower_first, std::string_view(rule.info.pack),
                    std::string_view(rule.info.id));
}

}  // namespace

std::string tier_name(std::uint32_t tier) {
  switch (tier) {
    case KVEDIT_TIER_VENDOR:
      return "vendor";
    case KVEDIT_TIER_STANDARD:
      return "standard";
    default:
      return "fallback";
  }
}

void put_in_order(std::vector<LoadedRule>& rules) {
  std::sort(rules.begin(), rules.end(),
            [](const LoadedRule& a, const LoadedRule& b) { return place(a) < place(b); });
}

}  // namespace kvedit
