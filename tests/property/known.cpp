#include "known.hpp"

#include <algorithm>

#include "reference/promises.hpp"
#include "reference/reference.hpp"

namespace kvedit::property {
namespace {

using reference::RunSet;

using Faults = std::vector<std::string>;

bool one_of(std::int64_t value, const std::vector<std::int64_t>& values) {
  return values.empty() || std::find(values.begin(), values.end(), value) != values.end();
}

std::string shown(const RunSet& runs) {
  std::string text = std::to_string(byte_count(runs)) + " bytes:";
  for (std::size_t i = 0; i < runs.size() && i < 4; ++i)
    text += " " + std::to_string(runs[i].begin) + ".." + std::to_string(runs[i].end);
  return text;
}

/// Compares one layer of a result that is ok.
class LayerComparison {
 public:
  LayerComparison(const KnownLayer& known, const LayerResult& layer, Faults& faults)
      : known_(known), layer_(layer), faults_(faults) {}

  void run() {
    if (layer_.name() != known_.name) return fault("another order of layers");
    const std::optional<PageMap> pages = layer_.pages();
    if (!known_.excluded.empty()) {
      if (layer_.outcome() != Outcome::excluded || layer_.reason() != known_.excluded)
        fault("not excluded: " + known_.excluded);
      return;
    }
    if (!pages) return fault("no pages");
    if (known_.scratch != (layer_.outcome() == Outcome::scratch)) fault("scratch or not");
    number("blocks", pages->blocks, {known_.blocks});
    number("tokens", pages->tokens, {known_.tokens});
    number("slots", pages->slots, known_.slots);
    number("kernel pages", pages->kernel_pages, known_.kernel_pages);
    number("block bytes", pages->block_bytes, {byte_count(known_.payload.front())});
    if (pages->blocks == known_.blocks) compare_bytes(*pages);
  }

 private:
  void fault(const std::string& what) { faults_.push_back(known_.name + ": " + what); }

  void number(const std::string& what, std::int64_t is, const std::vector<std::int64_t>& right) {
    if (!one_of(is, right))
      fault(what + " " + std::to_string(is) + ", not " + std::to_string(right.front()));
  }

  void compare_bytes(const PageMap& pages) {
    const std::vector<Part> owned_parts = layer_.owned();
    const reference::MovingRuns payload = reference::runs_of(pages.parts);
    const reference::MovingRuns owned = reference::runs_of(owned_parts);
    for (std::int64_t block = 0; block < known_.blocks; ++block) {
      const auto number = static_cast<std::size_t>(block);
      compare("payload", payload.at(block, twice_), known_.payload[number], block);
      compare("owned bytes", owned.at(block, twice_), known_.owned[number], block);
    }
  }

  void compare(const char* what, const RunSet& is, const RunSet& right, std::int64_t block) {
    if (is != right)
      fault(std::string(what) + " of block " + std::to_string(block) + " differ: " + shown(is) +
            ", not " + shown(right));
  }

  const KnownLayer& known_;
  const LayerResult layer_;
  Faults& faults_;
  bool twice_ = false;
};

Faults compare(const Drawn& drawn, const Result& result, DrawnTally& tally) {
  Faults faults;
  ++tally.served;
  if (result.layer_count() != drawn.layers.size()) return {"another number of layers"};
  for (std::size_t i = 0; i < drawn.layers.size(); ++i) {
    const LayerResult layer = result.layer(i);
    LayerComparison(drawn.layers[i], layer, faults).run();
    ++tally.layers;
    if (drawn.layers[i].needs_rule) ++tally.kernel_paged;
    if (drawn.data.caches[i].tensors.size() > 1) ++tally.several;
  }
  return faults;
}

const KnownLayer* find(const Drawn& drawn, const std::string& name) {
  for (const KnownLayer& layer : drawn.layers)
    if (layer.name == name) return &layer;
  return nullptr;
}

/// No rule says that its entries are consecutive, nor takes another axis for the blocks.
bool no_rule_could(const KnownLayer& layer, const Problem& problem) {
  return layer.needs_rule && !layer.no_rule.empty() && problem.rule.empty() &&
         problem.code == Code::granularity_mismatch;
}

/// Nothing is refused but what a rule must say and none does, and what has no such shape.
Faults judge_refusal(const Drawn& drawn, const Result& result, DrawnTally& tally) {
  Faults faults;
  for (const Problem& problem : result.problems()) {
    if (problem.severity != Severity::error) continue;
    const KnownLayer* layer = find(drawn, problem.layer);
    if (layer != nullptr && no_rule_could(*layer, problem))
      ++tally.no_rule[layer->no_rule];
    else
      faults.push_back("refused, but it is right: " + std::string(to_text(problem.code)) + ": " +
                       problem.message);
  }
  return faults;
}

RunSet runs_of(const reference::Bytes& bytes) {
  RunSet runs;
  for (const reference::Byte& byte : bytes)
    if (!runs.empty() && runs.back().storage == byte.storage && runs.back().end == byte.offset)
      ++runs.back().end;
    else
      runs.push_back({byte.storage, byte.offset, byte.offset + 1});
  unite(runs);
  return runs;
}

void append(Faults& to, const Faults& more) { to.insert(to.end(), more.begin(), more.end()); }

/// What is wrong with the reference's own judgement; where the reading is unique.
Faults faults_of_reference(const Drawn& drawn) {
  Faults faults;
  if (!drawn.unique) return faults;
  const reference::Truth truth = reference::judge(drawn.data);
  for (std::size_t i = 0; i < drawn.layers.size(); ++i) {
    const KnownLayer& known = drawn.layers[i];
    const reference::LayerTruth& judged = truth.layers[i];
    if (judged.fate == reference::Fate::undetermined) continue;
    const bool served = judged.fate == reference::Fate::served;
    if (served != known.excluded.empty())
      faults.push_back("reference: " + known.name + " is not served: " + judged.why);
    for (std::size_t block = 0; served && block < known.payload.size(); ++block)
      if (runs_of(judged.payload[block]) != known.payload[block] ||
          runs_of(judged.owned[block]) != known.owned[block])
        faults.push_back("reference: other bytes of " + known.name + ", block " +
                         std::to_string(block));
  }
  return faults;
}

}  // namespace

Faults faults_of(const Drawn& drawn, const Host& host, bool all, DrawnTally& tally) {
  const Result result = host.edit(Registration(drawn.data));
  Faults faults = reference::broken_promises(host, result);
  if (all) {
    append(faults, reference::broken_texts(host, result));
    append(faults, faults_of_reference(drawn));
  }
  if (!drawn.unique) {
    ++tally.not_unique;
    const reference::Truth truth = reference::judge(drawn.data);
    append(faults, differences(truth, result, Excuse::accident, tally.by_definition));
    return faults;
  }
  append(faults, result.ok() ? compare(drawn, result, tally) : judge_refusal(drawn, result, tally));
  return faults;
}

}  // namespace kvedit::property
