#pragma once

#include <map>
#include <string>
#include <vector>

#include <kvedit/host.hpp>

#include "compare.hpp"
#include "recipe.hpp"

namespace kvedit::property {

/// How the results of drawn layouts compare with what is known of them.
struct DrawnTally {
  std::size_t served = 0;
  std::size_t layers = 0;                      ///< compared byte by byte
  std::size_t kernel_paged = 0;                ///< of those
  std::size_t several = 0;                     ///< of those: registered in several tensors
  std::map<std::string, std::size_t> no_rule;  ///< refused: why no rule could have claimed it
  std::size_t not_unique = 0;                  ///< judged by the definition instead
  Tally by_definition;
};

/// What is wrong with the answer to a drawn registration; empty when nothing is. Where the reading
/// is unique, any answer but the known bytes is wrong, and so is a refusal.
/// @param all  also compares texts written and read, and holds the reference to what is known
std::vector<std::string> faults_of(const Drawn& drawn, const Host& host, bool all,
                                   DrawnTally& tally);

}  // namespace kvedit::property
