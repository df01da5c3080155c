#pragma once

#include <memory>

#include "model/edit.hpp"
#include "model/rule.hpp"

namespace kvedit {

/// The whole way, in the one file that knows its order: exclude, validate, match, prove, present,
/// audit.
std::shared_ptr<const Edit> run_pipeline(const Registration& registration,
                                         const EditOptions& options,
                                         std::shared_ptr<const RuleBook> book);

}  // namespace kvedit
