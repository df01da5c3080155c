#include "model/layer_facts.hpp"

#include "base/int128.hpp"

namespace kvedit {
namespace {

/// Also of registrations that no host has checked yet.
Int128 apart(const Tensor& a, const Tensor& b) {
  return Int128{b.storage_offset} * b.dtype.itemsize - Int128{a.storage_offset} * a.dtype.itemsize;
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

bool alike(std::span<const Tensor> a, std::span<const Tensor> b) {
  if (a.size() != b.size()) return false;
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (a[i].shape != b[i].shape || a[i].stride != b[i].stride || a[i].dtype != b[i].dtype)
      return false;
    const std::size_t leader = storage_leader(a, i);
    if (leader != storage_leader(b, i) || apart(a[leader], a[i]) != apart(b[leader], b[i]))
      return false;
  }
  return true;
}

std::uint64_t hash_alike(std::span<const Tensor> tensors) {
  Hash hash;
  for (const Tensor& tensor : tensors) {
    hash.add(tensor.dtype.itemsize);
    hash.add(tensor.shape);
    hash.add(tensor.stride);
  }
  return hash.value();
}

bool same_flags(const Group& a, const Group& b) {
  return a.enable_kv_transfer == b.enable_kv_transfer && a.host_resident == b.host_resident &&
         a.is_eagle_group == b.is_eagle_group && a.role == b.role;
}

}  // namespace kvedit
