#include <map>
#include <set>
#include <string>

#include <catch2/catch.hpp>

#include "given.hpp"
#include "reference/damage.hpp"

namespace kvedit::golden {
namespace {

using reference::Damage;
using reference::Scope;
using reference::Target;

/// First and last layer of every group, every tensor of theirs, every axis of those: as far as the
/// damage tells them apart.
std::vector<Target> targets_of(RegistrationData& data, Scope scope) {
  std::vector<Target> targets;
  for (std::size_t group = 0; group < data.groups.size(); ++group) {
    const std::size_t layers = data.groups[group].layers.size();
    for (std::size_t layer = 0; layer < layers; layer += std::max<std::size_t>(layers - 1, 1)) {
      Target target{group, layer, 0, 0};
      if (scope == Scope::group || scope == Scope::registration) targets.push_back(target);
      for (; scope >= Scope::tensor && reference::tensor_of(data, target); ++target.tensor) {
        const std::size_t rank = reference::tensor_of(data, target)->shape.size();
        for (target.axis = 0; target.axis < (scope == Scope::axis ? rank : 1); ++target.axis)
          targets.push_back(target);
        target.axis = 0;
      }
      if (scope == Scope::registration) return targets;
    }
  }
  return targets;
}

bool is_served(const RegistrationData& data, const Target& target) {
  return data.groups[target.group].enable_kv_transfer &&
         reference::leaf_of(data, target).has_layer_views;
}

/// A damaged registration may be served when the damage did no harm: every layer still moves
/// exactly the bytes that are right, and owns no byte it did not own before.
std::vector<std::string> harm_done(const Result& result, const ExpectedReport& expected) {
  std::vector<std::string> harm;
  const RegistrationData& data = result.registration().data();
  for (const auto& [name, layer] : expected.layers) {
    const std::optional<LayerResult> found = result.find_layer(name);
    const std::optional<PageMap> pages = found ? found->pages() : std::nullopt;
    if (layer.outcome == "excluded") continue;
    if (!pages || pages->blocks != layer.blocks) {
      harm.push_back(name + ": gone, or other blocks");
      continue;
    }
    const std::vector<Part> parts(pages->parts.begin(), pages->parts.end());
    for (const std::int64_t block : some_blocks(layer.blocks)) {
      if (!(spans_of(parts, block) == spans_of(layer.parts, block, data)))
        harm.push_back(name + ": other bytes");
      if (!covers(expected_owned(layer, block, data), spans_of(found->owned(), block)))
        harm.push_back(name + ": owns more");
    }
  }
  return harm;
}

void check_problems(const Result& result, const Damage& damage) {
  REQUIRE_FALSE(result.problems().empty());
  bool named = false;
  for (const Problem& problem : result.problems()) {
    if (problem.severity != Severity::error) continue;
    named |= damage.codes.contains(problem.code);
    CHECK_FALSE(problem.message.empty());
    CHECK((problem.group >= 0 || !problem.layer.empty()));
  }
  CHECK(named);
  for (std::size_t i = 0; i < result.layer_count(); ++i) CHECK_FALSE(result.layer(i).pages());
}

/// The damage done to one target: refused by its name, or harmless.
void check_damage(const std::string& name, const RegistrationData& right,
                  const ExpectedReport& expected, const Damage& damage, const Target& target,
                  std::map<std::string, std::set<std::string>>& harmless) {
  RegistrationData data = right;
  if (!damage.apply(data, target)) return;
  INFO(name << ": " << damage.name << ", group " << target.group << ", layer " << target.layer
            << ", tensor " << target.tensor << ", axis " << target.axis);
  const Result result = standard_host().edit(Registration(std::move(data)));
  INFO(problems_of(result));
  if (!result.ok()) {
    check_problems(result, damage);
    return;
  }
  CHECK(harm_done(result, expected) == std::vector<std::string>{});
  harmless[std::string(damage.name)].insert(name);
}

}  // namespace

TEST_CASE("no damaged registration is served") {
  std::map<std::string, std::set<std::string>> harmless;
  std::size_t tried = 0;
  for (const std::string& name : registration_names()) {
    const ExpectedReport expected = expected_report(name);
    if (!expected.refused_as_one_of.empty()) continue;
    RegistrationData right = given_registration(name);
    for (const Damage& damage : reference::damages())
      for (const Target& target : targets_of(right, damage.scope)) {
        if (!is_served(right, target)) continue;
        check_damage(name, right, expected, damage, target, harmless);
        ++tried;
      }
  }
  CHECK(tried > 10'000);
  std::vector<std::string> served;
  for (const auto& [damage, names] : harmless)
    for (const std::string& name : names) served.push_back(damage + ": " + name);
  CHECK(served == std::vector<std::string>{});
}

}  // namespace kvedit::golden
