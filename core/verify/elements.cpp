#include "elements.hpp"

#include <limits>

namespace kvedit::verify {
namespace {

class Walk {
 public:
  Walk(const Elements& elements, std::size_t fixed, Runs& runs)
      : elements_(elements), fixed_(fixed), runs_(runs) {}

  void from(std::size_t axis, std::int64_t element) {
    if (axis == fixed_) ++axis;
    const std::size_t rank = elements_.shape.size();
    if (axis >= rank) return add(element, 1);
    const bool last = axis + 1 == rank || (axis + 2 == rank && axis + 1 == fixed_);
    if (last && elements_.stride[axis] == 1) return add(element, elements_.shape[axis]);
    for (std::int64_t i = 0; i < elements_.shape[axis]; ++i)
      from(axis + 1, element + i * elements_.stride[axis]);
  }

 private:
  void add(std::int64_t element, std::int64_t count) {
    append(runs_, {elements_.storage, element * elements_.item, count * elements_.item});
  }

  const Elements& elements_;
  std::size_t fixed_;
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
  for (std::int64_t i = first; i < first + count; ++i)
    Walk(*this, axis, runs).from(0, offset + i * stride[axis]);
}

}  // namespace kvedit::verify
