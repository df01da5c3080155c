#pragma once

#include <compare>
#include <cstdint>
#include <map>

#include <kvedit/registration.hpp>

namespace kvedit::match {

/// Which facts a layer has, by address: equal specs, tensors and flags have equal ones.
struct ClassKey {
  const Spec* spec = nullptr;
  const Tensor* tensors = nullptr;
  const Group* group = nullptr;
  std::int64_t num_blocks = 0;
  std::int64_t placed_stride = -1;
  std::int64_t tokens = 0;  // of a block id: the group's sharding times the leaf's block
  bool listed = false;
  bool private_order = false;

  auto operator<=>(const ClassKey&) const = default;
};

/// Numbers classes of layers in the order in which they are first seen.
class Classes {
 public:
  /// The number of the layer's class; `next` when it is a new one.
  std::int32_t classify(const ClassKey& key, std::int32_t next);

 private:
  std::map<ClassKey, std::int32_t> known_;
};

}  // namespace kvedit::match
