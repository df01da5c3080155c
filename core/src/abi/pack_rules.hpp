#pragma once

#include <kvedit/rule_abi.h>

#include <cstdint>
#include <memory>
#include <string>

#include "model/rule.hpp"

namespace kvedit {

/// Rule `index` of a loaded pack; the table must stay for ever. Nothing the pack does wrong short
/// of crashing leaves `answer` other than as `Verdict::error`.
std::shared_ptr<const Rule> make_pack_rule(const kvedit_rule_pack& table, std::uint32_t index,
                                           RuleInfo info);

/// The validator of the pack with this id; the table must stay for ever.
std::shared_ptr<const Validator> make_pack_validator(const kvedit_validate_v1& table,
                                                     std::string pack);

}  // namespace kvedit
