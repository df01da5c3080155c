/// What a validator sees: a group before its layers are matched.
#pragma once

#include <cstddef>
#include <cstdint>
#include <kvedit/rule/layer.hpp>

#pragma GCC visibility push(hidden)
namespace kvedit::rule {

class Group {
 public:
  explicit Group(const kvedit_group* group) noexcept { detail::take(facts_, group); }
  Group(const Group&) = delete;
  Group& operator=(const Group&) = delete;

  std::int64_t layers() const noexcept { return static_cast<std::int64_t>(facts_.layer_count); }
  /// The distinct layers of the group.
  std::size_t leaves() const noexcept {
    if (facts_.leaves == nullptr || facts_.leaf_stride == 0) return 0;
    return static_cast<std::size_t>(facts_.leaf_count);
  }
  Layer leaf(std::size_t index) const {
    if (index >= leaves()) throw Fault(reason("leaf {} of a group with {}", index, leaves()));
    return Layer(detail::element(facts_.leaves, facts_.leaf_stride, index), facts_.leaf_stride);
  }

 private:
  kvedit_group facts_ = {};
};

}  // namespace kvedit::rule
#pragma GCC visibility pop
