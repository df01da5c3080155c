#include "stage.hpp"

#include <algorithm>
#include <cstring>
#include <set>
#include <tuple>
#include <utility>

#include "verify/pattern.hpp"

using kvedit::Part;
using kvedit::Range;
using kvedit::verify::Pattern;

namespace {

constexpr std::size_t margin = 4096;
constexpr std::uint64_t no_layer = ~std::uint64_t{0} - 1;

std::size_t size(std::int64_t value) { return static_cast<std::size_t>(value); }

}  // namespace

Move choose_blocks(std::int64_t blocks) {
  std::set<std::int64_t> from = {1, 2, blocks / 2};
  std::erase_if(from, [&](std::int64_t id) { return id >= blocks; });
  while (static_cast<std::int64_t>(from.size()) * 2 > blocks) from.erase(from.begin());
  Move move;
  move.from.assign(from.rbegin(), from.rend());
  for (std::int64_t id = blocks - 1; id >= 0 && move.to.size() < move.from.size(); --id)
    if (!from.contains(id)) move.to.push_back(id);
  return move;
}

Stage::Stage(const kvedit::Result& result, const RegisteredMemory& memory,
             std::vector<std::size_t> layers, Move move)
    : result_(result), memory_(memory), layers_(std::move(layers)), move_(std::move(move)) {
  find_windows();
  merge_windows();
}

template <class Visit>
void Stage::each_range(std::span<const Part> parts, std::int64_t block, const Visit& visit) const {
  for (const Part& part : parts)
    for (const Range& range : part.ranges)
      visit(static_cast<std::size_t>(part.storage), size(part.base + range.offset),
            size(part.base + range.offset + block * part.block_stride), size(range.length));
}

std::vector<std::int64_t> Stage::touched() const {
  const std::int64_t blocks = result_.layer(layers_.front()).pages()->blocks;
  std::set<std::int64_t> ids;
  for (const std::vector<std::int64_t>* list : {&move_.from, &move_.to})
    for (const std::int64_t id : *list)
      for (const std::int64_t near : {id - 1, id, id + 1})
        if (near >= 0 && near < blocks) ids.insert(near);
  return {ids.begin(), ids.end()};
}

void Stage::find_windows() {
  const std::vector<std::int64_t> ids = touched();
  for (const std::size_t layer : layers_) {
    const std::vector<Part> owned = result_.layer(layer).owned();
    for (const std::int64_t id : ids)
      each_range(owned, id,
                 [&](std::size_t storage, std::size_t, std::size_t offset, std::size_t length) {
                   const std::size_t end = memory_.storage(storage).size();
                   windows_.push_back({storage, offset - std::min(offset, margin),
                                       std::min(offset + length + margin, end)});
                 });
  }
}

void Stage::merge_windows() {
  std::sort(windows_.begin(), windows_.end(), [](const Window& a, const Window& b) {
    return std::tie(a.storage, a.begin) < std::tie(b.storage, b.begin);
  });
  std::vector<Window> merged;
  for (const Window& window : windows_) {
    if (!merged.empty() && merged.back().storage == window.storage &&
        window.begin <= merged.back().end)
      merged.back().end = std::max(merged.back().end, window.end);
    else
      merged.push_back(window);
  }
  windows_ = std::move(merged);
  window_at_ = {0};
  for (const Window& window : windows_)
    window_at_.push_back(window_at_.back() + window.end - window.begin);
}

std::span<std::byte> Stage::in(std::vector<std::byte>& copy, std::size_t storage,
                               std::size_t offset, std::size_t length) const {
  const auto after = std::upper_bound(
      windows_.begin(), windows_.end(), std::pair(storage, offset), [](const auto& at, const auto& w) {
        return at < std::pair(w.storage, w.begin);
      });
  const auto index = static_cast<std::size_t>(after - windows_.begin()) - 1;
  return std::span(copy).subspan(window_at_[index] + offset - windows_[index].begin, length);
}

std::vector<std::byte> Stage::painted() const {
  std::vector<std::byte> bytes(window_at_.back());
  for (std::size_t i = 0; i < windows_.size(); ++i) {
    const Window& window = windows_[i];
    Pattern(no_layer, 0, window.storage)
        .paint(std::span(bytes).subspan(window_at_[i], window.end - window.begin), window.begin);
  }
  const std::vector<std::int64_t> ids = touched();
  for (const std::size_t layer : layers_) {
    const std::vector<Part> owned = result_.layer(layer).owned();
    for (const std::int64_t id : ids)
      each_range(owned, id, [&](std::size_t storage, std::size_t position, std::size_t offset,
                                std::size_t length) {
        Pattern(layer, static_cast<std::uint64_t>(id), storage)
            .paint(in(bytes, storage, offset, length), position);
      });
  }
  return bytes;
}

void Stage::paint() const {
  const std::vector<std::byte> bytes = painted();
  for (std::size_t i = 0; i < windows_.size(); ++i)
    std::memcpy(memory_.storage(windows_[i].storage).data() + windows_[i].begin,
                bytes.data() + window_at_[i], windows_[i].end - windows_[i].begin);
}

std::int64_t Stage::payload_bytes() const {
  std::int64_t bytes = 0;
  for (const std::size_t layer : layers_) bytes += result_.layer(layer).pages()->block_bytes;
  return bytes * static_cast<std::int64_t>(move_.from.size());
}

std::int64_t Stage::count_right() const {
  std::int64_t right = 0;
  for (const std::size_t layer : layers_) {
    const kvedit::PageMap pages = *result_.layer(layer).pages();
    for (std::size_t i = 0; i < move_.to.size(); ++i)
      each_range(pages.parts, move_.to[i], [&](std::size_t storage, std::size_t position,
                                               std::size_t offset, std::size_t length) {
        right += Pattern(layer, static_cast<std::uint64_t>(move_.from[i]), storage)
                     .count_right(memory_.storage(storage).subspan(offset, length), position);
      });
  }
  return right;
}

bool Stage::rest_untouched() const {
  std::vector<std::byte> expected = painted();
  const auto payload = [&](std::size_t layer, std::int64_t id, const auto& visit) {
    const kvedit::PageMap pages = *result_.layer(layer).pages();
    each_range(pages.parts, id, visit);
  };
  for (const std::size_t layer : layers_) {
    for (std::size_t i = 0; i < move_.to.size(); ++i) {
      payload(layer, move_.to[i], [&](std::size_t storage, std::size_t position, std::size_t offset,
                                      std::size_t length) {
        Pattern(layer, static_cast<std::uint64_t>(move_.from[i]), storage)
            .paint(in(expected, storage, offset, length), position);
      });
      payload(layer, move_.from[i], [&](std::size_t storage, std::size_t, std::size_t offset,
                                        std::size_t length) {
        std::ranges::fill(in(expected, storage, offset, length), std::byte{0});
      });
    }
  }
  for (std::size_t i = 0; i < windows_.size(); ++i)
    if (std::memcmp(memory_.storage(windows_[i].storage).data() + windows_[i].begin,
                    expected.data() + window_at_[i], windows_[i].end - windows_[i].begin) != 0)
      return false;
  return true;
}
