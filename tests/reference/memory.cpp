#include "reference/memory.hpp"

#include <algorithm>
#include <numeric>
#include <utility>

namespace kvedit::reference {

std::int32_t find_storage(const RegistrationData& data, const std::string& name) {
  for (std::size_t i = 0; i < data.storages.size(); ++i)
    if (data.storages[i].name == name) return static_cast<std::int32_t>(i);
  return -1;
}

namespace {

/// Offset of the byte behind the last one the tensor reaches, or nothing beyond 2^100.
std::optional<Wide> end_of(const Tensor& tensor) {
  const Wide item = tensor.dtype.itemsize;
  const Wide bound = Wide{1} << 100;
  Wide end = (Wide{tensor.storage_offset} + 1) * item;
  for (std::size_t i = 0; i < tensor.shape.size(); ++i) {
    const Wide reach = Wide{tensor.shape[i] - 1} * tensor.stride[i];  // below 2^126
    if (reach > bound) return std::nullopt;
    end += reach * item;
  }
  return end;
}

}  // namespace

std::optional<std::string> fault_of(const RegistrationData& data, const Tensor& tensor) {
  if (tensor.shape.size() != tensor.stride.size()) return "ranks of shape and stride differ";
  if (tensor.shape.empty()) return "no axis";
  for (std::size_t i = 0; i < tensor.shape.size(); ++i) {
    if (tensor.shape[i] <= 0) return "extent not positive";
    if (tensor.stride[i] <= 0) return "stride not positive";
  }
  if (tensor.storage_offset < 0) return "negative offset";
  const std::int32_t storage = find_storage(data, tensor.storage);
  if (storage < 0) return "unknown storage";
  const std::optional<Wide> end = end_of(tensor);
  if (!end || *end > data.storages[static_cast<std::size_t>(storage)].nbytes)
    return "leaves its storage";
  return std::nullopt;
}

Wide element_count(const Tensor& tensor) {
  Wide count = 1;
  for (const std::int64_t extent : tensor.shape) {
    count *= extent;
    if (count > (Wide{1} << 62)) return count;
  }
  return count;
}

Wide entry_bytes(const Tensor& tensor, std::size_t axis) {
  return element_count(tensor) / tensor.shape[axis] * tensor.dtype.itemsize;
}

namespace {

/// The next index of the axes beside `axis`, the last axis first, and its element; false when there
/// is none.
bool advance(const Tensor& tensor, std::size_t axis, std::vector<std::int64_t>& index,
             std::int64_t& element) {
  for (std::size_t i = index.size(); i-- > 0;) {
    if (i == axis) continue;
    if (index[i] + 1 < tensor.shape[i]) {
      ++index[i];
      element += tensor.stride[i];
      return true;
    }
    element -= index[i] * tensor.stride[i];
    index[i] = 0;
  }
  return false;
}

}  // namespace

void append_entry(const Tensor& tensor, std::int32_t storage, std::size_t axis, std::int64_t index,
                  Bytes& bytes) {
  const std::int64_t item = tensor.dtype.itemsize;
  std::vector<std::int64_t> others(tensor.shape.size(), 0);
  std::int64_t element = tensor.storage_offset + index * tensor.stride[axis];
  do
    for (std::int64_t byte = 0; byte < item; ++byte)
      bytes.push_back({storage, element * item + byte});
  while (advance(tensor, axis, others, element));
}

void append_all(const Tensor& tensor, std::int32_t storage, Bytes& bytes) {
  bytes.reserve(bytes.size() + static_cast<std::size_t>(element_count(tensor)) *
                                   static_cast<std::size_t>(tensor.dtype.itemsize));
  for (std::int64_t i = 0; i < tensor.shape[0]; ++i) append_entry(tensor, storage, 0, i, bytes);
}

namespace {

bool follows(const Byte& byte, const Byte& last) {
  return byte.storage == last.storage && byte.offset == last.offset + 1;
}

/// Puts stretches of bytes that follow each other into order; false when there are many, or two of
/// them reach into each other.
bool unite_by_stretches(Bytes& bytes) {
  std::vector<std::size_t> begins;
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    if (i > 0 && follows(bytes[i], bytes[i - 1])) continue;
    if (4 * begins.size() > bytes.size()) return false;
    begins.push_back(i);
  }
  begins.push_back(bytes.size());
  std::vector<std::size_t> order(begins.size() - 1);
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::sort(order.begin(), order.end(),
            [&](std::size_t a, std::size_t b) { return bytes[begins[a]] < bytes[begins[b]]; });
  Bytes sorted;
  sorted.reserve(bytes.size());
  for (const std::size_t each : order) {
    if (!sorted.empty() && bytes[begins[each]] <= sorted.back()) return false;
    sorted.insert(sorted.end(), bytes.begin() + static_cast<std::ptrdiff_t>(begins[each]),
                  bytes.begin() + static_cast<std::ptrdiff_t>(begins[each + 1]));
  }
  bytes = std::move(sorted);
  return true;
}

/// Marks the bytes of one storage that lie near each other and reads the marks in order; false when
/// they do not.
bool unite_by_marks(Bytes& bytes, bool& twice) {
  const std::int32_t storage = bytes.front().storage;
  std::int64_t low = bytes.front().offset, high = low;
  for (const Byte& byte : bytes) {
    if (byte.storage != storage) return false;
    low = std::min(low, byte.offset);
    high = std::max(high, byte.offset);
  }
  if (Wide{high} - low > Wide{16} * static_cast<Wide>(bytes.size())) return false;
  std::vector<bool> marks(static_cast<std::size_t>(high - low) + 1, false);
  for (const Byte& byte : bytes) {
    const auto mark = marks[static_cast<std::size_t>(byte.offset - low)];
    twice = twice || mark;
    marks[static_cast<std::size_t>(byte.offset - low)] = true;
  }
  bytes.clear();
  for (std::size_t i = 0; i < marks.size(); ++i)
    if (marks[i]) bytes.push_back({storage, low + static_cast<std::int64_t>(i)});
  return true;
}

}  // namespace

bool sort_and_unite(Bytes& bytes) {
  bool twice = false;
  const auto no_less = [](const Byte& a, const Byte& b) { return a >= b; };
  if (std::adjacent_find(bytes.begin(), bytes.end(), no_less) == bytes.end()) return false;
  if (unite_by_stretches(bytes)) return false;
  if (unite_by_marks(bytes, twice)) return twice;
  std::sort(bytes.begin(), bytes.end());
  const auto end = std::unique(bytes.begin(), bytes.end());
  twice = end != bytes.end();
  bytes.erase(end, bytes.end());
  return twice;
}

bool meets_itself(const Tensor& tensor) {
  const Wide span = *end_of(tensor) - Wide{tensor.storage_offset} * tensor.dtype.itemsize;
  if (span > Wide{16} * element_count(tensor) * tensor.dtype.itemsize) {
    Bytes all;
    append_all(tensor, 0, all);
    return sort_and_unite(all);
  }
  std::vector<bool> marks(static_cast<std::size_t>(span), false);
  const std::int64_t item = tensor.dtype.itemsize;
  for (std::int64_t i = 0; i < tensor.shape[0]; ++i) {
    std::vector<std::int64_t> others(tensor.shape.size(), 0);
    std::int64_t element = i * tensor.stride[0];
    do
      for (std::int64_t byte = element * item; byte < (element + 1) * item; ++byte) {
        if (marks[static_cast<std::size_t>(byte)]) return true;
        marks[static_cast<std::size_t>(byte)] = true;
      }
    while (advance(tensor, 0, others, element));
  }
  return false;
}

bool contains(const Bytes& outer, const Bytes& inner) {
  if (inner.empty()) return true;
  const auto from = std::lower_bound(outer.begin(), outer.end(), inner.front());
  const auto rest = static_cast<std::size_t>(outer.end() - from);
  if (rest >= inner.size() && std::equal(inner.begin(), inner.end(), from)) return true;
  return std::includes(outer.begin(), outer.end(), inner.begin(), inner.end());
}

}  // namespace kvedit::reference
