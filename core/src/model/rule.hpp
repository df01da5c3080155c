#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include <kvedit/problem.hpp>
#include <kvedit/result.hpp>

#include "model/layer_facts.hpp"
#include "model/plan.hpp"

namespace kvedit {

struct Answer {
  Verdict verdict = Verdict::no_match;
  std::string reason;
  Plan plan;  // of a match
  std::vector<Fact> facts;

  bool operator==(const Answer&) const = default;
};

/// Pure and thread-safe. What goes wrong inside comes back as `Verdict::error` with the reason.
class Rule {
 public:
  virtual ~Rule() = default;
  virtual const RuleInfo& info() const = 0;
  virtual Answer answer(const LayerFacts& layer) const = 0;
};

/// Judges a group before matching: `no_match` when it has no objection, else `refuse` or `error`.
class Validator {
 public:
  virtual ~Validator() = default;
  virtual const std::string& pack() const = 0;
  /// @param leaves  the distinct layers of the group
  virtual Answer validate(std::span<const LayerFacts> leaves, std::int64_t layer_count) const = 0;
};

/// Rules in effective order, validators, and what went wrong while they were loaded.
struct RuleBook {
  std::vector<std::shared_ptr<const Rule>> rules;
  std::vector<RuleInfo> infos;  // of `rules`, same order
  std::vector<std::shared_ptr<const Validator>> validators;
  std::vector<Problem> problems;
};

}  // namespace kvedit
