#include "model/layer_facts.hpp"

namespace kvedit {
namespace {

bool same_group_facts(const Group& a, const Group& b) {
  return a.enable_kv_transfer == b.enable_kv_transfer && a.host_resident == b.host_resident &&
         a.is_eagle_group == b.is_eagle_group && a.role == b.role;
}

bool same_tensors(std::span<const Tensor> a, std::span<const Tensor> b) {
  if (a.size() != b.size()) return false;
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (a[i].shape != b[i].shape || a[i].stride != b[i].stride || a[i].dtype != b[i].dtype)
      return false;
    const std::size_t leader = storage_leader(a, i);
    if (leader != storage_leader(b, i) ||
        offset_between(a[leader], a[i]) != offset_between(b[leader], b[i]))
      return false;
  }
  return true;
}

class Hash {
 public:
  void add(std::int64_t value) {
    state_ = (state_ ^ static_cast<std::uint64_t>(value)) * 0x9e3779b97f4a7c15ULL;
    state_ ^= state_ >> 29;
  }
  void add(const std::vector<std::int64_t>& values) {
    add(static_cast<std::int64_t>(values.size()));
    for (const std::int64_t value : values) add(value);
  }
  std::uint64_t value() const { return state_; }

 private:
  std::uint64_t state_ = 0x6b76656469740001ULL;
};

}  // namespace

bool same_facts(const LayerFacts& a, const LayerFacts& b) {
  return a.num_blocks == b.num_blocks && a.slots == b.slots && a.purpose == b.purpose &&
         a.layout == b.layout && (a.spec == b.spec || *a.spec == *b.spec) &&
         (a.group == b.group || same_group_facts(*a.group, *b.group)) &&
         same_tensors(a.tensors, b.tensors);
}

std::uint64_t hash_facts(const LayerFacts& facts) {
  Hash hash;
  hash.add(facts.num_blocks);
  hash.add(facts.spec->page_size_bytes);
  hash.add(facts.spec->block_size);
  hash.add(static_cast<std::int64_t>(facts.spec->kind));
  for (const Tensor& tensor : facts.tensors) {
    hash.add(tensor.dtype.itemsize);
    hash.add(tensor.shape);
    hash.add(tensor.stride);
  }
  return hash.value();
}

}  // namespace kvedit
