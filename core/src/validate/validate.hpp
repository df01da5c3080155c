#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "model/edit.hpp"
#include "model/rule.hpp"

namespace kvedit::validate {

/// A transferred group without its excluded layers.
struct GroupFacts {
  std::int32_t index = 0;
  const Group* group = nullptr;
  std::vector<std::string_view> layers;
  std::vector<LayerFacts> leaves;  // distinct ones of its layers; the group's own when it is empty
};

/// Whether a spec alone may make `validate` object.
bool objectionable(const Spec& spec);

/// What makes a group unfit for what its bytes are moved for, whatever their layout:
/// `cross-attention`, `mamba-cache-mode`, and `unsupported-spec` by a validator of a rule pack.
std::vector<Problem> validate(const GroupFacts& group, Purpose purpose, const RuleBook& book);

}  // namespace kvedit::validate
