#pragma once

#include "model/edit.hpp"
#include "model/rule.hpp"

namespace kvedit::match {

/// Asks the rules in order until one matches or refuses; writes what they said to `of`, and the
/// plan and rule of a match. The one that decides is asked twice, since rules are pure. Sets
/// `of.failure` to `rule-failed` or `rule-misbehaved`.
void claim(LayerClass& of, const RuleBook& book);

}  // namespace kvedit::match
