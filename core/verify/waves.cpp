#include "waves.hpp"

#include <algorithm>
#include <set>
#include <utility>

namespace kvedit::verify {
namespace {

constexpr std::size_t usual_pairs = 4;
constexpr std::int64_t most_in_one_trial = std::int64_t{256} << 20;
constexpr std::int64_t most_in_all = std::int64_t{768} << 20;

std::uint64_t seed_of(std::uint64_t seed, std::int32_t group) {
  return Pattern::mix(seed ^ Pattern::mix(static_cast<std::uint64_t>(group)));
}

// The `index`-th of `count` slices of nearly the same size.
std::vector<std::size_t> slice(const std::vector<std::size_t>& layers, std::size_t index,
                               std::size_t count) {
  const auto at = [&](std::size_t i) {
    return layers.begin() + static_cast<std::ptrdiff_t>(layers.size() * i / count);
  };
  return {at(index), at(index + 1)};
}

Runs owned_by(const std::vector<LayerTruth>& truths, const Moving& moving) {
  Runs all;
  for (const std::size_t layer : moving.layers)
    for (const std::vector<std::int64_t>* ids : {&moving.move.from, &moving.move.to})
      for (const std::int64_t id : *ids) {
        const Runs owned = truths[layer].owned(id);
        all.insert(all.end(), owned.begin(), owned.end());
      }
  make_set(all);
  return all;
}

}  // namespace

Waves::Waves(const std::vector<LayerTruth>& truths,
             std::map<std::int32_t, std::vector<std::size_t>> layers,
             std::optional<std::size_t> pairs, std::uint64_t seed)
    : truths_(truths), layers_(std::move(layers)), seed_(seed) {
  for (const auto& [group, members] : layers_)
    for (const std::size_t layer : members) cost_of_block_[layer] = cost_of_block(truths_[layer]);
  std::size_t chosen = pairs.value_or(usual_pairs);
  while (choose(chosen) > most_in_all && !pairs && chosen > 1) --chosen;
}

// Gives what all of it costs.
std::int64_t Waves::choose(std::size_t pairs) {
  std::int64_t bytes = 0;
  for (const auto& [group, members] : layers_) {
    const std::int64_t blocks = blocks_of(group);
    std::set<std::int64_t> taken;
    const Move& move = moves_[group] = choose_blocks(blocks, pairs, seed_of(seed_, group), taken);
    for (const std::size_t layer : members) bytes += cost(layer, move.touched(blocks).size());
  }
  return bytes;
}

std::int64_t Waves::blocks_of(std::int32_t group) const {
  return truths_[layers_.at(group).front()].facts.blocks;
}

std::int64_t Waves::cost(std::size_t layer, std::size_t ids) const {
  return cost_of_block_.at(layer) * static_cast<std::int64_t>(ids);
}

std::vector<Moving> Waves::alone() const {
  std::vector<Moving> waves;
  for (const auto& [group, members] : layers_) {
    const Move& move = moves_.at(group);
    const std::size_t ids = move.touched(blocks_of(group)).size();
    std::int64_t bytes = most_in_one_trial;  // full: the first layer opens a wave
    for (const std::size_t layer : members) {
      bytes += cost(layer, ids);
      if (bytes > most_in_one_trial) {
        waves.push_back({group, blocks_of(group), {}, move});
        bytes = cost(layer, ids);
      }
      waves.back().layers.push_back(layer);
    }
  }
  return waves;
}

// Ids beside those of other groups first, where blocks of other sizes or places meet; then some
// anywhere.
std::vector<Moving> Waves::moves_together() const {
  std::vector<Moving> all;
  std::set<std::int64_t> taken;
  for (const auto& [group, members] : layers_) {
    const std::int64_t blocks = blocks_of(group);
    Move move = neighbouring_blocks(blocks, all.size(), layers_.size(), taken);
    if (!move.from.empty()) all.push_back({group, blocks, members, std::move(move)});
  }
  for (Moving& each : all) {
    const Move more = scatter_blocks(each.blocks, 1, seed_of(seed_, each.group), taken);
    each.move.from.insert(each.move.from.end(), more.from.begin(), more.from.end());
    each.move.to.insert(each.move.to.end(), more.to.begin(), more.to.end());
  }
  return all;
}

std::vector<std::vector<Moving>> Waves::together() const {
  if (layers_.size() < 2) return {};
  const std::vector<Moving> all = moves_together();
  std::int64_t bytes = 0;
  for (const Moving& each : all)
    for (const std::size_t layer : each.layers)
      bytes += cost(layer, each.move.touched(each.blocks).size());
  if (all.size() < 2) return {};
  const auto count = static_cast<std::size_t>(bytes / most_in_one_trial + 1);
  std::vector<std::vector<Moving>> waves(count);
  for (std::size_t i = 0; i < count; ++i)
    for (const Moving& each : all) {
      Moving part = {each.group, each.blocks, slice(each.layers, i, count), each.move};
      if (!part.layers.empty()) waves[i].push_back(std::move(part));
    }
  std::erase_if(waves, [](const std::vector<Moving>& wave) { return wave.empty(); });
  return waves;
}

std::int64_t shared_bytes(const std::vector<LayerTruth>& truths, const std::vector<Moving>& wave) {
  std::vector<Runs> owned;
  for (const Moving& each : wave) owned.push_back(owned_by(truths, each));
  std::int64_t bytes = 0;
  for (std::size_t i = 0; i < owned.size(); ++i)
    for (std::size_t j = i + 1; j < owned.size(); ++j) bytes += shared(owned[i], owned[j]);
  return bytes;
}

}  // namespace kvedit::verify
