#include "model/byte_sets.hpp"

namespace kvedit {

Strided bytes_of(const Tensor& tensor) {
  const std::int64_t item = tensor.dtype.itemsize;
  Strided all(item);
  for (std::size_t a = 0; a < tensor.shape.size(); ++a)
    all.add({tensor.shape[a], tensor.stride[a] * item});
  all.merge();
  return all;
}

Ranges ranges_of(const LayerFacts& facts, const std::vector<PartShape>& parts, std::size_t leader,
                 std::int64_t block_stride) {
  Ranges ranges;
  for (const PartShape& part : parts) {
    const bool moves_alike = part.block_stride == block_stride || facts.num_blocks == 1;
    if (storage_leader(facts.tensors, part.tensor) != leader || !moves_alike) continue;
    const std::int64_t base =
        offset_between(facts.tensors[leader], facts.tensors[part.tensor]) + part.offset;
    for (const Range& range : part.ranges) ranges.push_back({base + range.offset, range.length});
  }
  normalise(ranges);
  return ranges;
}

}  // namespace kvedit
