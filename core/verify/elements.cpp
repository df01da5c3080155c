#include "elements.hpp"

#include <algorithm>
#include <limits>
#include <vector>

namespace kvedit::verify {
namespace {

/// Visits the other axes outermost in memory first, so that bytes side by side come side by side.
class Walk {
 public:
  Walk(const Elements& elements, std::size_t fixed, Runs& runs) : elements_(elements), runs_(runs) {
    for (std::size_t axis = 0; axis < elements.shape.size(); ++axis)
      if (axis != fixed && elements.shape[axis] > 1) axes_.push_back(axis);
    std::stable_sort(axes_.begin(), axes_.end(), [&](std::size_t a, std::size_t b) {
      return elements.stride[a] > elements.stride[b];
    });
  }

  void from(std::int64_t element, std::size_t depth = 0) {
    if (depth == axes_.size()) return add(element, 1);
    const std::size_t axis = axes_[depth];
    if (depth + 1 == axes_.size() && elements_.stride[axis] == 1)
      return add(element, elements_.shape[axis]);
    for (std::int64_t i = 0; i < elements_.shape[axis]; ++i)
      from(element + i * elements_.stride[axis], depth + 1);
  }

 private:
  void add(std::int64_t element, std::int64_t count) {
    append(runs_, {elements_.storage, element * elements_.item, count * elements_.item});
  }

  const Elements& elements_;
  std::vector<std::size_t> axes_;
  Runs& runs_;
};

}  // namespace

Elements Elements::of(const Tensor& tensor, std::int32_t storage) {
  return {tensor.shape, tensor.stride, tensor.dtype.itemsize, tensor.storage_offset, storage};
}

Elements Elements::of(const View& view) {
  return {view.shape, view.stride, view.dtype->itemsize, view.storage_offset, view.storage};
}

std::int64_t Elements::entry_bytes(std::size_t axis) const {
  std::int64_t bytes = item;
  for (std::size_t i = 0; i < shape.size(); ++i)
    if (i != axis) bytes *= shape[i];
  return bytes;
}

std::int64_t Elements::step(std::size_t axis) const {
  std::int64_t bytes = 0;
  return __builtin_mul_overflow(stride[axis], item, &bytes)
             ? std::numeric_limits<std::int64_t>::max()
             : bytes;
}

void Elements::append_entries(std::size_t axis, std::int64_t first, std::int64_t count,
                              Runs& runs) const {
  Walk walk(*this, axis, runs);
  for (std::int64_t i = first; i < first + count; ++i) walk.from(offset + i * stride[axis]);
}

}  // namespace kvedit::verify
