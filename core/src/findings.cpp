#include "findings.hpp"

#include "base/text.hpp"

namespace kvedit {

void Findings::add(const LayerEntry& layer, std::string_view rule, const Failure& failure) {
  const auto [known, added] = known_.emplace(
      std::tuple(layer.group, layer.layer_class, failure.code, failure.severity), findings_.size());
  if (added)
    findings_.push_back({std::string(layer.name), std::string(rule), layer.group, failure, 0});
  ++findings_[known->second].layers;
}

std::vector<Problem> Findings::problems() const {
  std::vector<Problem> problems;
  for (const Finding& finding : findings_) {
    Problem& problem = problems.emplace_back();
    problem.code = finding.failure.code;
    problem.severity = finding.failure.severity;
    problem.group = finding.group;
    problem.layer = finding.layer;
    problem.rule = finding.rule;
    problem.facts = finding.failure.facts;
    problem.message = text("layer ", finding.layer);
    if (finding.layers > 1) problem.message += text(" and ", finding.layers - 1, " more like it");
    problem.message += finding.group < 0 ? " of no group" : text(" of group ", finding.group);
    if (!finding.rule.empty()) problem.message += text(", claimed by ", finding.rule);
    problem.message += text(": ", finding.failure.message);
  }
  return problems;
}

}  // namespace kvedit
