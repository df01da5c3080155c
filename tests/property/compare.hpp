#pragma once

#include <map>
#include <string>
#include <vector>

#include <kvedit/result.hpp>

#include "reference/reference.hpp"

namespace kvedit::property {

/// How a result was allowed to differ from the reference, for statistics.
struct Tally {
  std::size_t served = 0;
  std::size_t refused = 0;                     ///< by both
  std::size_t unclaimed = 0;                   ///< k > 1 that no rule claims
  std::map<std::string, std::size_t> no_rule;  ///< of those: excused by a reason with a name
  std::size_t undetermined = 0;
  std::size_t layers = 0;        ///< compared byte by byte
  std::size_t kernel_paged = 0;  ///< of those
  std::size_t other_codes = 0;   ///< refused by both, with a code the reference does not expect
};

/// How far a refusal of what the reference serves is excused.
enum class Excuse {
  no_rule,   ///< k > 1 that no rule can claim, for a reason with a name; or `profile`
  accident,  ///< also: k > 1 that no rule claims; a rule claims by its names an axis that holds the
             ///< blocks only by accident
};

/// What is wrong with the result by the reference; empty when nothing is.
std::vector<std::string> differences(const reference::Truth& truth, const Result& result,
                                     Excuse excuse, Tally& tally);

}  // namespace kvedit::property
