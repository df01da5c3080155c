#include "reference/ownership.hpp"

#include <algorithm>
#include <optional>

#include "reference/states.hpp"

namespace kvedit::reference {
namespace {

bool in_one_storage(const Bytes& block) {
  return block.front().storage == block.back().storage;  // sorted by storage first
}

bool moves_by_one_stride(const std::vector<Bytes>& raw) {
  if (raw.size() < 2) return true;
  const std::int64_t stride = raw[1].front().offset - raw[0].front().offset;
  for (std::size_t block = 1; block < raw.size(); ++block) {
    if (raw[block].size() != raw[0].size()) return false;
    for (std::size_t i = 0; i < raw[0].size(); ++i)
      if (raw[block][i].offset - raw[0][i].offset != stride * static_cast<std::int64_t>(block))
        return false;
  }
  return true;
}

Bytes run(const Byte& start, std::int64_t length) {
  Bytes bytes;
  bytes.reserve(static_cast<std::size_t>(std::max<std::int64_t>(length, 0)));
  for (std::int64_t i = 0; i < length; ++i) bytes.push_back({start.storage, start.offset + i});
  return bytes;
}

/// `n` of the definition.
std::optional<std::int64_t> payload_length(const Spec& spec) {
  if (spec.recurrent()) return state_bytes_of(spec);
  return spec.unpadded_page_size_bytes.value_or(spec.page_size_bytes);
}

}  // namespace

bool owns_window(const Subject& subject, const Reading& reading) {
  for (const Bytes& block : reading.raw) {
    if (!in_one_storage(block) || block.front().storage != reading.raw[0].front().storage)
      return false;
    if (block.back().offset - block.front().offset >= subject.spec->page_size_bytes) return false;
  }
  return moves_by_one_stride(reading.raw);
}

std::vector<Bytes> owned_bytes(const Subject& subject, const Reading& reading, bool window) {
  if (!window) return reading.raw;
  std::vector<Bytes> owned;
  for (const Bytes& block : reading.raw)
    owned.push_back(run(block.front(), subject.spec->page_size_bytes));
  return owned;
}

std::vector<Bytes> payload_bytes(const Subject& subject, const Reading& reading, bool window) {
  const std::optional<std::int64_t> length = payload_length(*subject.spec);
  if (!length || !window) return reading.raw;
  std::vector<Bytes> payload;
  for (const Bytes& block : reading.raw) {
    Bytes first = run(block.front(), *length);
    const bool inside = contains(first, block);
    const bool covers = subject.tensors->size() == 1 && contains(block, first);
    payload.push_back(inside || covers ? std::move(first) : block);
  }
  return payload;
}

bool starts_as_placed(const Subject& subject, const Reading& reading) {
  if (!subject.place) return true;
  for (std::size_t block = 0; block < reading.raw.size(); ++block) {
    const Wide start =
        subject.place->start + subject.place->block_stride * static_cast<Wide>(block);
    if (!in_one_storage(reading.raw[block])) return false;
    if (reading.raw[block].front().storage != subject.place->storage) return false;
    if (reading.raw[block].front().offset != start) return false;
  }
  return true;
}

bool inside_storages(const RegistrationData& data, const std::vector<Bytes>& blocks) {
  for (const Bytes& block : blocks)
    for (const Byte& byte : block)
      if (byte.offset < 0 ||
          byte.offset >= data.storages[static_cast<std::size_t>(byte.storage)].nbytes)
        return false;
  return true;
}

}  // namespace kvedit::reference
