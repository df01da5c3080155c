#include "readback/recover.hpp"

#include <algorithm>
#include <numeric>

#include "base/int128.hpp"
#include "base/text.hpp"

namespace kvedit::readback {
namespace {

Dims sorted(std::span<const std::int64_t> shape, std::span<const std::int64_t> stride) {
  std::vector<std::size_t> order(shape.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    if (stride[a] != stride[b]) return stride[a] > stride[b];
    return shape[a] != 1 && shape[b] == 1;
  });
  Dims dims;
  dims.shape.reserve(order.size());
  dims.stride.reserve(order.size());
  for (const std::size_t axis : order) {
    dims.shape.push_back(shape[axis]);
    dims.stride.push_back(stride[axis]);
  }
  return dims;
}

/// Strides of a dense tensor; saturating, so that what does not fit is never dense.
std::vector<std::int64_t> tight(const std::vector<std::int64_t>& shape) {
  std::vector<std::int64_t> strides(shape.size(), 1);
  for (std::size_t a = shape.size(); a-- > 1;)
    if (__builtin_mul_overflow(strides[a], shape[a], &strides[a - 1])) strides[a - 1] = INT64_MAX;
  return strides;
}

bool dense(const Dims& dims) {
  const std::vector<std::int64_t> strides = tight(dims.shape);
  for (std::size_t a = 0; a < dims.shape.size(); ++a)
    if (dims.shape[a] != 1 && dims.stride[a] != strides[a]) return false;
  return true;
}

Int128 elements(const std::vector<std::int64_t>& shape) {
  constexpr Int128 most = Int128{1} << 63;
  Int128 count = 1;
  for (const std::int64_t extent : shape) count = std::min(count * extent, most);
  return count;
}

std::variant<Dims, std::string> shaped_by_strides(const Dims& dims) {
  const Int128 count = elements(dims.shape);
  Dims shaped;
  shaped.contiguous = true;
  shaped.shape.reserve(dims.shape.size());
  shaped.shape.push_back(static_cast<std::int64_t>(count / dims.stride[0]));
  for (std::size_t a = 0; a + 1 < dims.stride.size(); ++a)
    shaped.shape.push_back(dims.stride[a] / dims.stride[a + 1]);
  if (elements(shaped.shape) != count)
    return text("the strides of its axes of extent 1 give a shape of other size than its ", count,
                " elements");
  shaped.stride = tight(shaped.shape);
  return shaped;
}

}  // namespace

std::variant<Dims, std::string> recover(std::span<const std::int64_t> shape,
                                        std::span<const std::int64_t> stride) {
  if (shape.size() != stride.size() || shape.empty())
    return text("its shape has ", shape.size(), " axes and its strides ", stride.size());
  const auto empty = [](std::int64_t each) { return each <= 0; };
  if (std::any_of(shape.begin(), shape.end(), empty) ||
      std::any_of(stride.begin(), stride.end(), empty))
    return std::string("an extent or stride of it is not positive");
  Dims dims = sorted(shape, stride);
  if (dense(dims)) return shaped_by_strides(dims);
  const std::size_t rank = dims.shape.size();
  const std::vector<std::int64_t> strides = tight(dims.shape);
  for (std::size_t a = rank; a-- > 1;)
    if (dims.stride[a] != strides[a])
      return text("an axis within a block has stride ", dims.stride[a], " where ", strides[a],
                  " would leave no gap");
  if (rank < 3) return text("with gaps it needs three axes, and it has ", rank);
  if (dims.stride[0] < strides[0])
    return text("its outermost stride of ", dims.stride[0], " is shorter than the ", strides[0],
                " elements inside it");
  return dims;
}

}  // namespace kvedit::readback
