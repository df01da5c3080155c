#include "reference/memory.hpp"

#include <algorithm>

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
  if (unite_by_marks(bytes, twice)) return twice;
  std::sort(bytes.begin(), bytes.end());
  const auto end = std::unique(bytes.begin(), bytes.end());
  twice = end != bytes.end();
  bytes.erase(end, bytes.end());
  return twice;
}

bool contains(const Bytes& outer, const Bytes& inner) {
  return std::includes(outer.begin(), outer.end(), inner.begin(), inner.end());
}

}  // namespace kvedit::reference
