#include "fingerprint/stream.hpp"

#include <algorithm>

#include "base/runs.hpp"

namespace kvedit::fingerprint {
namespace {

std::string_view name_of(Role role) {
  return role == Role::opaque ? std::string_view("axis") : to_text(role);
}

/// Kernel pages of a block follow each other, so they continue its tokens. Other axes stay as they
/// are: what two axes that nobody named mean together, their bytes do not say.
bool pages_of_tokens(const StreamAxis& outer, const StreamAxis& inner) {
  return outer.role == "kernel_page" && inner.role == "token";
}

/// Kernel pages of one state each are the states.
void name_states(std::vector<StreamAxis>& axes, std::int64_t slots) {
  const auto token = [](const StreamAxis& axis) { return axis.role == "token"; };
  if (std::any_of(axes.begin(), axes.end(), token)) return;
  for (StreamAxis& axis : axes)
    if (axis.role == "kernel_page" && axis.extent == slots) axis.role = "token";
}

bool row_major(const StreamAxis& outer, const StreamAxis& inner) {
  return outer.role == inner.role && outer.last + 1 == inner.first;
}

template <class Continues>
void merge(std::vector<StreamAxis>& axes, Continues continues) {
  for (std::size_t i = axes.size(); i-- > 1;) {
    StreamAxis& outer = axes[i - 1];
    const StreamAxis& inner = axes[i];
    if (Int128{inner.stride} * inner.extent != outer.stride || !continues(outer, inner)) continue;
    const bool pages = outer.role != inner.role;
    outer = {inner.role, outer.extent * inner.extent, inner.stride,
             pages ? inner.first : outer.first, inner.last};
    axes.erase(axes.begin() + static_cast<std::ptrdiff_t>(i));
  }
}

/// The bytes of one item count on what the innermost axis counts. A content axis of one item, which
/// is left out like any of extent 1, is these bytes.
void add_item(const Box& box, std::vector<StreamAxis>& axes) {
  StreamAxis* inner = axes.empty() ? nullptr : &axes.back();
  if (inner && inner->stride == box.item_bytes && inner->role == "content") {
    inner->extent *= box.item_bytes;
    inner->stride = 1;
  } else {
    const auto content = [](const auto& axis) { return axis.role == "content"; };
    const auto one = [](const Axis& axis) { return axis.role == Role::content; };
    const bool lone = std::none_of(axes.begin(), axes.end(), content) &&
                      std::any_of(box.axes.begin(), box.axes.end(), one);
    axes.push_back({lone ? "content" : "item", box.item_bytes, 1, 0, 0});
  }
}

}  // namespace

bool Stream::before(const Piece& a, const Piece& b) {
  return a.leader != b.leader ? a.leader < b.leader : a.begin < b.begin;
}

Stream::Stream(const LayerFacts& facts, const std::vector<PartShape>& payload) : facts_(facts) {
  std::int64_t at = 0;
  for (const PartShape& part : payload)
    for (const Range& range : part.ranges) {
      pieces_.push_back({storage_leader(facts.tensors, part.tensor),
                         address_of(part.tensor, part.offset + range.offset), range.length, at});
      at += range.length;
    }
  std::sort(pieces_.begin(), pieces_.end(), before);
}

std::int64_t Stream::address_of(std::uint32_t tensor, std::int64_t offset) const {
  const std::size_t leader = storage_leader(facts_.tensors, tensor);
  return offset_between(facts_.tensors[leader], facts_.tensors[tensor]) + offset;
}

std::optional<std::int64_t> Stream::position(std::size_t leader, Int128 address,
                                             std::int64_t length) const {
  // One run moves everything alike, also what it leaves out.
  const bool one = pieces_.size() == 1;
  auto piece = pieces_.begin();
  if (!one) {
    piece = std::upper_bound(pieces_.begin(), pieces_.end(), std::pair(leader, address),
                             [](const std::pair<std::size_t, Int128>& place, const Piece& each) {
                               return place < std::pair(each.leader, Int128{each.begin});
                             });
    if (piece == pieces_.begin()) return std::nullopt;
    --piece;
  }
  if (piece->leader != leader) return std::nullopt;
  if (!one && address + length > piece->begin + piece->length) return std::nullopt;
  return static_cast<std::int64_t>(piece->at + (address - piece->begin));
}

bool Stream::follows(const Box& box, std::int64_t at) const {
  if (pieces_.size() == 1) return true;
  const std::size_t leader = storage_leader(facts_.tensors, box.tensor);
  const std::int64_t base = address_of(box.tensor, box.offset);
  Strided inner(box.item_bytes);
  for (const Axis& axis : box.axes)
    if (axis.role != Role::block) inner.add({axis.extent, axis.stride});
  inner.merge();
  Int128 runs = 1;
  InlineVector<std::int64_t, max_steps> moves;
  for (const Step& step : inner.steps()) {
    const auto next = position(leader, Int128{base} + step.stride, inner.run());
    if (!next || (runs *= step.extent) > max_runs) return false;
    moves.push_back(*next - at);
  }
  for (std::int64_t run = 0; run < static_cast<std::int64_t>(runs); ++run) {
    Int128 address = base, expected = at;
    std::int64_t left = run;
    for (std::size_t s = 0; s < moves.size(); ++s) {
      const std::int64_t index = left % inner.steps()[s].extent;
      left /= inner.steps()[s].extent;
      address += Int128{index} * inner.steps()[s].stride;
      expected += Int128{index} * moves[s];
    }
    const auto found = position(leader, address, inner.run());
    if (!found || *found != expected) return false;
  }
  return true;
}

std::optional<StreamBox> Stream::place(const Box& box) const {
  const std::size_t leader = storage_leader(facts_.tensors, box.tensor);
  const std::int64_t base = address_of(box.tensor, box.offset);
  const auto at = position(leader, base, box.item_bytes);
  if (!at || !follows(box, *at)) return std::nullopt;
  StreamBox placed{*at, {}};
  std::array<int, 8> seen{};
  for (const Axis& axis : box.axes) {
    if (axis.role == Role::block || axis.extent == 1) continue;
    const auto next = position(leader, Int128{base} + axis.stride, box.item_bytes);
    if (!next) return std::nullopt;
    int& number = seen[static_cast<std::size_t>(axis.role)];
    placed.axes.push_back({name_of(axis.role), axis.extent, *next - *at, number, number});
    ++number;
  }
  std::stable_sort(placed.axes.begin(), placed.axes.end(),
                   [](const auto& a, const auto& b) { return a.stride > b.stride; });
  merge(placed.axes, pages_of_tokens);
  name_states(placed.axes, facts_.slots);
  add_item(box, placed.axes);
  return placed;
}

std::optional<Run> Stream::run_of(const Box& box) const {
  auto placed = place(box);
  if (!placed) return std::nullopt;
  std::vector<StreamAxis>& axes = placed->axes;
  const StreamAxis item = axes.back();
  axes.pop_back();
  merge(axes, row_major);
  if (axes.empty()) return Run{placed->at, item.extent};
  if (axes.size() > 1 || axes[0].stride != item.extent) return std::nullopt;
  return Run{placed->at, axes[0].extent * item.extent};
}

}  // namespace kvedit::fingerprint
