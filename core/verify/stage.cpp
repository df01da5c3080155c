#include "stage.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

namespace kvedit::verify {
namespace {

constexpr std::uint64_t garbage_key = 0x6761726261676521u;

std::size_t size_of(std::int64_t value) { return static_cast<std::size_t>(value); }
std::uint64_t position_of(const Run& run) { return static_cast<std::uint64_t>(run.begin); }

std::int64_t count_different(std::span<const std::byte> one, std::span<const std::byte> other) {
  if (std::memcmp(one.data(), other.data(), one.size()) == 0) return 0;
  std::int64_t different = 0;
  for (std::size_t i = 0; i < one.size(); ++i) different += one[i] != other[i] ? 1 : 0;
  return different;
}

}  // namespace

Expected<Stage> Stage::of(const Memory& memory, Runs touched, std::uint64_t seed) {
  Expected<Mapping> expected = Mapping::reserve("the expected bytes", total(touched));
  if (!expected) return expected.error();
  return Stage(memory, std::move(touched), *std::move(expected), seed);
}

Stage::Stage(const Memory& memory, Runs touched, Mapping expected, std::uint64_t seed)
    : memory_(&memory), windows_(std::move(touched)), expected_(std::move(expected)), seed_(seed) {
  std::int64_t at = 0;
  for (const Run& window : windows_) {
    window_at_.push_back(at);
    at += window.length;
  }
}

Pattern Stage::painted(const Run& run) const {
  return Pattern(seed_, static_cast<std::uint64_t>(run.storage));
}

void Stage::paint() {
  for (const Run& window : windows_) {
    painted(window).paint(bytes(window), position_of(window));
    const auto now = bytes(window);
    std::memcpy(expected(window).data(), now.data(), now.size());
  }
}

void Stage::expect(const Copy& copy) {
  painted(copy.from).paint(expected(copy.to), position_of(copy.from));
}

void Stage::paint_wiped(std::span<std::byte> to, const Run& run, bool garbage) const {
  if (garbage)
    Pattern(seed_, garbage_key, static_cast<std::uint64_t>(run.storage))
        .paint(to, position_of(run));
  else
    std::memset(to.data(), 0, to.size());
}

void Stage::expect_wiped(const Run& run, bool garbage) { paint_wiped(expected(run), run, garbage); }

void Stage::wipe(const Run& run, bool garbage) const { paint_wiped(bytes(run), run, garbage); }

void Stage::accept(const Run& run) {
  const auto now = bytes(run);
  std::memcpy(expected(run).data(), now.data(), now.size());
}

std::size_t Stage::window_of(const Run& run) const {
  const auto after =
      std::upper_bound(windows_.begin(), windows_.end(), run, [](const Run& at, const Run& window) {
        return std::pair(at.storage, at.begin) < std::pair(window.storage, window.begin);
      });
  return static_cast<std::size_t>(after - windows_.begin()) - 1;
}

bool Stage::on_stage(const Run& run) const {
  const std::size_t at = window_of(run);
  if (at >= windows_.size() || run.length < 0) return false;
  const Run& window = windows_[at];
  return window.storage == run.storage && run.length <= window.length &&
         run.begin - window.begin <= window.length - run.length;
}

std::span<std::byte> Stage::bytes(const Run& run) const {
  return memory_->storage(size_of(run.storage)).subspan(size_of(run.begin), size_of(run.length));
}

std::span<std::byte> Stage::expected(const Run& run) const {
  const std::size_t at = window_of(run);
  const std::int64_t begin = window_at_[at] + run.begin - windows_[at].begin;
  return expected_.bytes().subspan(size_of(begin), size_of(run.length));
}

std::int64_t Stage::right(const Run& run) const {
  std::span<const std::byte> is = bytes(run);
  std::span<const std::byte> should = expected(run);
  if (std::memcmp(is.data(), should.data(), is.size()) == 0) return run.length;
  std::int64_t right = 0;
  while (!is.empty()) {
    const std::size_t count = std::min<std::size_t>(8, is.size());
    if (std::memcmp(is.data(), should.data(), count) == 0)
      right += static_cast<std::int64_t>(count);
    is = is.subspan(count);
    should = should.subspan(count);
  }
  return right;
}

std::int64_t Stage::wrong(const Run& run) const {
  return on_stage(run) ? count_different(bytes(run), expected(run)) : 0;
}

std::int64_t Stage::wrong() const {
  std::int64_t bytes_wrong = 0;
  for (const Run& window : windows_) bytes_wrong += wrong(window);
  return bytes_wrong;
}

std::int64_t Stage::size() const { return total(windows_); }

}  // namespace kvedit::verify
