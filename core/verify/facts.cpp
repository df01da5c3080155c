#include "facts.hpp"

#include <string>

namespace kvedit::verify {

Facts::Facts(const Registration& registration) : data_(registration.data()) {
  for (std::size_t i = 0; i < data_.storages.size(); ++i)
    storages_.emplace(data_.storages[i].name, static_cast<std::int32_t>(i));
  for (const Cache& each : data_.caches) caches_.emplace(each.layer, &each);
  for (const Placement& each : data_.placements)
    for (const std::string& layer : each.layers) placements_.emplace(layer, &each);
}

LayerFacts Facts::of(std::string_view layer, std::int32_t group) const {
  const Group& in = data_.groups[static_cast<std::size_t>(group)];
  const auto leaf = in.layer_specs.find(std::string(layer));
  LayerFacts facts;
  facts.spec = leaf == in.layer_specs.end() ? &in.spec : &leaf->second;
  facts.blocks = in.num_blocks.value_or(data_.num_blocks);
  for (const Tensor& tensor : caches_.at(layer)->tensors)
    facts.tensors.push_back(Elements::of(tensor, storages_.at(tensor.storage)));
  const auto placement = placements_.find(layer);
  if (placement != placements_.end()) facts.placed_stride = placement->second->block_stride;
  return facts;
}

}  // namespace kvedit::verify
