#include "prove/search.hpp"

#include <algorithm>

namespace kvedit::prove {
namespace {

std::int64_t entry_bytes(const Tensor& tensor, std::size_t axis) {
  std::int64_t bytes = tensor.dtype.itemsize;
  for (std::size_t a = 0; a < tensor.shape.size(); ++a)
    if (a != axis) bytes *= tensor.shape[a];
  return bytes;
}

Entries entries_of(const Tensor& tensor, std::size_t axis) {
  return {tensor.shape[axis], tensor.stride[axis] * tensor.dtype.itemsize,
          entry_bytes(tensor, axis)};
}

}  // namespace

/// Outermost in memory first. The stride of an axis of one entry says nothing: with a single block
/// it may be the block axis, whatever its stride.
Search::AxisOrder Search::memory_order(const Tensor& tensor, std::int64_t num_blocks) {
  AxisOrder order;
  for (std::size_t a = 0; a < tensor.shape.size(); ++a) order.push_back(a);
  const auto lone = [&](std::size_t a) { return num_blocks == 1 && tensor.shape[a] == 1; };
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    return lone(a) || lone(b) ? lone(a) && !lone(b) : tensor.stride[a] > tensor.stride[b];
  });
  return order;
}

Search::Search(const LayerFacts& facts) : facts_(facts) {
  orders_.reserve(facts.tensors.size());
  for (const Tensor& tensor : facts.tensors)
    orders_.push_back(memory_order(tensor, facts.num_blocks));
}

std::optional<Reading> Search::first() {
  chosen_.assign(facts_.tensors.size(), 0);
  entries_.assign(facts_.tensors.size(), {});
  return descend(0);
}

std::optional<Reading> Search::at_depth(std::size_t depth) {
  for (std::size_t t = 0; t < orders_.size(); ++t) {
    std::size_t seen = 0, axis = max_axes;
    for (const std::size_t a : orders_[t])
      if (facts_.tensors[t].shape[a] > 1 && seen++ == depth) axis = a;
    if (axis == max_axes) return std::nullopt;
    choose(t, axis);
  }
  return judge();
}

std::size_t Search::depth_of(std::size_t tensor, std::size_t axis) const {
  std::size_t depth = 0;
  for (const std::size_t a : orders_[tensor]) {
    if (a == axis) break;
    if (facts_.tensors[tensor].shape[a] > 1) ++depth;
  }
  return depth;
}

void Search::choose(std::size_t tensor, std::size_t axis) {
  chosen_[tensor] = axis;
  entries_[tensor] = entries_of(facts_.tensors[tensor], axis);
}

std::optional<Reading> Search::descend(std::size_t tensor) {
  if (tensor == orders_.size()) return judge();
  for (const std::size_t axis : orders_[tensor]) {
    choose(tensor, axis);
    if (tensor > 0 && !may_share_pages(tensor)) continue;
    if (auto reading = descend(tensor + 1)) return reading;
    if (exhausted()) return std::nullopt;
  }
  return std::nullopt;
}

/// Entries of tensors that make the same blocks differ by less than a block's.
bool Search::may_share_pages(std::size_t tensor) const {
  const std::int64_t most = entries_[0].count / facts_.num_blocks;
  const std::int64_t here = entries_[tensor].count / facts_.num_blocks;
  return most == here || std::max(most, here) > facts_.num_blocks;
}

std::optional<Reading> Search::judge() {
  ++tries_;
  const Grain grain = grain_of(facts_, entries_);
  if (const auto* pages = std::get_if<std::int64_t>(&grain)) return Reading{chosen_, *pages};
  const Miss& miss = std::get<Miss>(grain);
  if (!nearest_ || miss.kind > nearest_->miss.kind)
    nearest_ = NearMiss{miss, chosen_[0], all_bytes()};
  return std::nullopt;
}

std::int64_t Search::all_bytes() const {
  Int128 bytes = 0;
  for (const Entries& each : entries_) bytes += each.bytes;
  return saturated(bytes);
}

}  // namespace kvedit::prove
