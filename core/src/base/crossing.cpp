#include "base/crossing.hpp"

#include <algorithm>
#include <vector>

namespace kvedit {
namespace {

/// First and last term of `b` that meet the bytes [begin, begin + length); none when last < first.
struct Terms {
  Int128 first, last;
};

Terms terms_met(Int128 begin, std::int64_t length, const Progression& b) {
  if (b.stride <= 0) {
    const bool met = begin < b.begin + b.length && b.begin < begin + length;
    return {0, met ? 0 : -1};
  }
  return {std::max<Int128>(ceil_div(begin - b.length + 1 - b.begin, b.stride), 0),
          std::min<Int128>(floor_div(begin + length - 1 - b.begin, b.stride), b.count - 1)};
}

Crossing shared_at(const Progression& a, Int128 i, const Progression& b, Int128 j) {
  return {Meeting::share, static_cast<std::int64_t>(i), static_cast<std::int64_t>(j),
          std::max(a.begin + i * a.stride, b.begin + j * b.stride)};
}

Crossing turned(const Crossing& found) {
  return {found.meeting, found.other_block, found.block, found.byte};
}

/// Term i of `a` meets term j of `b` exactly when i − j lies between two bounds.
Crossing cross_equal_strides(const Progression& a, const Progression& b) {
  const Int128 apart = b.begin - a.begin;
  const Int128 lowest =
      std::max<Int128>(ceil_div(apart - a.length + 1, a.stride), -Int128{b.count - 1});
  const Int128 highest = std::min<Int128>(floor_div(apart + b.length - 1, a.stride), a.count - 1);
  if (lowest > highest || (lowest == 0 && highest == 0)) return {};
  const Int128 ahead = highest > 0 ? std::max<Int128>(lowest, 1) : std::min<Int128>(highest, -1);
  return ahead > 0 ? shared_at(a, ahead, b, 0) : shared_at(a, 0, b, -ahead);
}

/// A part of a block within one stride, and how many strides from the origin it lies.
struct Piece {
  std::int64_t begin, end;
  Int128 strides;
};

void add_pieces(const Field& field, Int128 origin, std::vector<Piece>& pieces) {
  for (const Range& range : field.ranges) {
    const Int128 from = field.base + range.offset - origin;
    const Int128 strides = floor_div(from, field.stride);
    const auto at = static_cast<std::int64_t>(from - strides * field.stride);
    const std::int64_t length = std::min(range.length, field.stride - at);
    pieces.push_back({at, at + length, strides});
    if (length < range.length) pieces.push_back({0, range.length - length, strides + 1});
  }
}

/// Blocks of pieces that overlap have one number, or numbers that no two blocks differ by.
bool alike_or_far(std::vector<Int128>& strides, std::int64_t blocks) {
  std::sort(strides.begin(), strides.end());
  for (std::size_t i = 1; i < strides.size(); ++i)
    if (strides[i] != strides[i - 1] && strides[i] - strides[i - 1] < blocks) return false;
  return true;
}

}  // namespace

Crossing cross(const Progression& a, const Progression& b, std::int64_t& steps) {
  if (a.end() <= b.begin || b.end() <= a.begin) return {};
  if (a.count > 1 && b.count > 1 && a.stride == b.stride) return cross_equal_strides(a, b);
  if (a.count > b.count) return turned(cross(b, a, steps));
  for (Int128 i = 0; i < a.count; ++i) {
    if (--steps < 0) return {Meeting::undecided};
    const Terms met = terms_met(a.begin + i * a.stride, a.length, b);
    for (const Int128 j : {met.first, met.last})
      if (met.first <= met.last && j != i) return shared_at(a, i, b, j);
  }
  return {};
}

Crossing cross(const Field& a, const Field& b, std::int64_t& steps) {
  if (a.end() <= b.begin() || b.end() <= a.begin()) return {};
  for (std::size_t i = 0; i < a.ranges.size(); ++i)
    for (std::size_t j = 0; j < b.ranges.size(); ++j) {
      if (--steps < 0) return {Meeting::undecided};
      const Crossing found = cross(a.progression(i), b.progression(j), steps);
      if (found.meeting != Meeting::apart) return found;
    }
  return {};
}

bool none_crosses(std::span<const Field> fields) {
  const std::int64_t stride = fields.front().stride;
  Int128 origin = fields.front().begin();
  std::int64_t blocks = 1;
  for (const Field& field : fields) {
    if (stride <= 0 || field.stride != stride) return false;
    for (const Range& range : field.ranges)
      if (range.length > stride) return false;
    origin = std::min(origin, field.begin());
    blocks = std::max(blocks, field.count);
  }
  std::vector<Piece> pieces;
  for (const Field& field : fields) add_pieces(field, origin, pieces);
  std::sort(pieces.begin(), pieces.end(),
            [](const Piece& x, const Piece& y) { return x.begin < y.begin; });
  std::vector<Int128> strides;
  std::int64_t end = 0;
  for (const Piece& piece : pieces) {
    if (piece.begin >= end) {
      if (!alike_or_far(strides, blocks)) return false;
      strides.clear();
    }
    end = std::max(end, piece.end);
    strides.push_back(piece.strides);
  }
  return alike_or_far(strides, blocks);
}

}  // namespace kvedit
