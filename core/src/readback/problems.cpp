#include "readback/problems.hpp"

#include <utility>

#include "base/text.hpp"
#include "model/index.hpp"

namespace kvedit::readback {
namespace {

Problem made(Severity severity, std::vector<Fact> facts) {
  Problem problem;
  problem.severity = severity;
  problem.code = Code::profile;
  problem.facts = std::move(facts);
  return problem;
}

}  // namespace

void Problems::of_all(std::string message, std::vector<Fact> facts) {
  ++reported_;
  Found& found = found_.emplace_back();
  found.problem = made(Severity::error, std::move(facts));
  found.problem.message = std::move(message);
}

void Problems::of_group(Severity severity, std::int32_t group, std::string message,
                        std::vector<Fact> facts) {
  ++reported_;
  const auto& layers = edit_.registration.data().groups[static_cast<std::size_t>(group)].layers;
  if (severity == Severity::error) fail_group(group);
  Found& found = found_.emplace_back();
  found.problem = made(severity, std::move(facts));
  found.problem.group = group;
  found.problem.message =
      text("group ", group, " (", layers.size(), layers.size() == 1 ? " layer" : " layers");
  if (!layers.empty()) {
    found.problem.layer = layers.front();
    found.problem.message += text(", first ", layers.front());
  }
  found.problem.message += text("): ", message);
}

void Problems::of_layer(Severity severity, std::size_t layer, std::string message,
                        std::vector<Fact> facts) {
  ++reported_;
  const LayerEntry& entry = edit_.layers[layer];
  if (severity == Severity::error) failed_.push_back(layer);
  for (Found& known : found_)
    if (known.layers > 0 && known.problem.group == entry.group &&
        known.layer_class == entry.layer_class && known.message == message) {
      ++known.layers;
      return;
    }
  Found& found = found_.emplace_back();
  found.problem = made(severity, std::move(facts));
  found.problem.group = entry.group;
  found.problem.layer = std::string(entry.name);
  if (entry.layer_class >= 0) {
    const LayerClass& of = edit_.classes[static_cast<std::size_t>(entry.layer_class)];
    if (of.rule >= 0) found.problem.rule = edit_.book->infos[static_cast<std::size_t>(of.rule)].id;
  }
  found.layer_class = entry.layer_class;
  found.layers = 1;
  found.message = std::move(message);
}

void Problems::fail_group(std::int32_t group) {
  const auto& begin = edit_.registration.index().group_begin;
  const auto g = static_cast<std::size_t>(group);
  for (std::size_t l = begin[g]; l < begin[g + 1]; ++l) failed_.push_back(l);
}

std::vector<Problem> Problems::take() && {
  for (const std::size_t layer : failed_)
    if (edit_.layers[layer].outcome != Outcome::excluded)
      edit_.layers[layer].outcome = Outcome::failed;
  std::vector<Problem> problems;
  for (Found& found : found_) {
    if (found.layers > 0) {
      std::string line = text("layer ", found.problem.layer);
      if (found.layers > 1) line += text(" and ", found.layers - 1, " more like it");
      line += found.problem.group < 0 ? " of no group" : text(" of group ", found.problem.group);
      if (!found.problem.rule.empty()) line += text(", claimed by ", found.problem.rule);
      found.problem.message = text(line, ": ", found.message);
    }
    problems.push_back(std::move(found.problem));
  }
  return problems;
}

}  // namespace kvedit::readback
