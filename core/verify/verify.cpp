#include "verify.hpp"

#include <algorithm>
#include <map>
#include <optional>
#include <utility>

#include "waves.hpp"

namespace kvedit::verify {
namespace {

Error elsewhere(const std::string& layer, std::int32_t of, std::int32_t asked) {
  const std::string where = of < 0 ? "no group" : "group " + std::to_string(of);
  return {"", "layer " + layer + " is of " + where + ", not of group " + std::to_string(asked)};
}

Error unknown_group(std::int32_t group, std::size_t groups) {
  return {"", "group " + std::to_string(group) + ": the registration has " +
                  std::to_string(groups) + (groups == 1 ? " group" : " groups") +
                  ", counted from 0"};
}

bool chosen(const Options& options, const LayerResult& layer) {
  return (!options.group || *options.group == layer.group()) &&
         (!options.layer || *options.layer == layer.name());
}

std::vector<GroupMove> ids_of(const std::vector<std::vector<Moving>>& waves) {
  std::map<std::int32_t, GroupMove> moves;
  for (const std::vector<Moving>& wave : waves)
    for (const Moving& each : wave) moves[each.group] = {each.group, each.move.from, each.move.to};
  std::vector<GroupMove> all;
  for (const auto& [group, move] : moves) all.push_back(move);
  return all;
}

class Verification {
 public:
  Verification(const Result& result, const Options& options, const Answers& answers,
               const Memory& memory)
      : result_(result), options_(options), answers_(answers), memory_(memory) {}

  Expected<Report> run() {
    report_.seed = options_.seed;
    report_.reserved_bytes = memory_.reserved_bytes();
    const Waves waves(truths_, layers(), options_.blocks, options_.seed);
    const std::vector<Moving> alone = waves.alone();
    const std::vector<std::vector<Moving>> together = waves.together();
    steps_ = alone.size() * 4 + together.size();
    for (const auto& [group, move] : waves.moves())
      report_.moves.push_back({group, move.from, move.to});
    for (const Moving& wave : alone)
      if (auto error = move_alone(wave)) return *std::move(error);
    if (auto error = move_together(together)) return *std::move(error);
    return std::move(report_);
  }

 private:
  // Finds the truth about each chosen layer on the way.
  std::map<std::int32_t, std::vector<std::size_t>> layers() {
    const Facts facts(result_.registration());
    std::map<std::int32_t, std::vector<std::size_t>> layers;
    truths_.resize(result_.layer_count());
    report_.layers.resize(result_.layer_count());
    for (std::size_t i = 0; i < result_.layer_count(); ++i) {
      LayerCheck& check = report_.layers[i];
      check.layer = i;
      const LayerResult layer = result_.layer(i);
      if (!layer.pages() || !chosen(options_, layer)) continue;
      check.moved = true;
      truths_[i] = truth_of(facts, layer);
      check.by_tensors = !layer.pages()->declared;
      if (truths_[i].fault.empty())
        layers[layer.group()].push_back(i);
      else
        check.faults.push_back(truths_[i].fault);
    }
    return layers;
  }

  void open_checks(const Moving& wave) {
    const auto pairs = static_cast<std::int64_t>(wave.move.pairs());
    for (const std::size_t layer : wave.layers) {
      LayerCheck& check = report_.layers[layer];
      const LayerTruth& truth = truths_[layer];
      check.blocks = pairs;
      check.payload_bytes = pairs * total(truth.payload(0));
      check.right_bytes = check.right_in_views = check.payload_bytes;
      check.untouched_bytes = -check.payload_bytes * (wave.blocks == 1 ? 1 : 2);
      for (const std::int64_t id : wave.move.touched(wave.blocks))
        check.untouched_bytes += total(truth.owned(id));
    }
  }

  std::optional<Error> move_alone(const Moving& wave) {
    open_checks(wave);
    Expected<Trial> trial = Trial::set_up(bench(), {wave}, Company::alone);
    if (!trial) return trial.error();
    trial->by_addresses(Order::layer_major, false, report_);
    step();
    trial->by_addresses(Order::block_major, true, report_);
    step();
    trial->by_views(report_);
    step();
    trial->by_entries(report_);
    step();
    memory_.clear();
    return std::nullopt;
  }

  std::optional<Error> move_together(const std::vector<std::vector<Moving>>& waves) {
    for (const std::vector<Moving>& wave : waves)
      report_.together.shared_bytes += shared_bytes(truths_, wave);
    if (waves.empty() || report_.together.shared_bytes > 0) return std::nullopt;
    report_.together.tried = true;
    report_.together.moves = ids_of(waves);
    for (const std::vector<Moving>& wave : waves) {
      Expected<Trial> trial = Trial::set_up(bench(), wave, Company::together);
      if (!trial) return trial.error();
      trial->by_addresses(Order::layer_major, true, report_);
      step();
      memory_.clear();
    }
    return std::nullopt;
  }

  Bench bench() const { return {result_, answers_, memory_, truths_, options_.seed}; }

  void step() {
    ++done_;
    if (options_.progress) options_.progress(done_, steps_);
  }

  const Result& result_;
  const Options& options_;
  const Answers& answers_;
  const Memory& memory_;
  std::vector<LayerTruth> truths_;
  Report report_;
  std::size_t done_ = 0;
  std::size_t steps_ = 0;
};

}  // namespace

Answers Answers::of(const Result& result) {
  Answers answers;
  answers.addresses = [&result](std::span<const std::size_t> layers,
                                std::span<const std::int64_t> block_ids,
                                std::span<const std::uint64_t> bases,
                                Order order) -> Expected<std::vector<Extent>> {
    const auto map = AddressMap::make(result, layers, bases, order);
    if (!map) return map.error();
    return map->extents(block_ids);
  };
  answers.views = [](const LayerResult& layer) {
    std::vector<View> all;
    for (std::size_t i = 0; i < layer.view_count(); ++i) all.push_back(layer.view(i));
    return all;
  };
  return answers;
}

bool Report::ok() const {
  return faults.empty() && std::all_of(layers.begin(), layers.end(),
                                       [](const LayerCheck& check) { return check.ok(); });
}

Expected<Report> verify(const Result& result, const Options& options, const Answers& answers) {
  if (options.group &&
      (*options.group < 0 || static_cast<std::size_t>(*options.group) >= result.groups().size()))
    return unknown_group(*options.group, result.groups().size());
  if (options.layer && !result.find_layer(*options.layer))
    return Error{"", "layer " + *options.layer + ": no layer or cache has that name"};
  if (options.group && options.layer)
    if (const std::int32_t of = result.find_layer(*options.layer)->group(); of != *options.group)
      return elsewhere(*options.layer, of, *options.group);
  const Expected<Memory> memory = Memory::like(result.registration());
  if (!memory) return memory.error();
  return Verification(result, options, answers, *memory).run();
}

Expected<Report> verify(const Result& result, const Options& options) {
  return verify(result, options, Answers::of(result));
}

}  // namespace kvedit::verify
