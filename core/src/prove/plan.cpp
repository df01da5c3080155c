#include "prove/plan.hpp"

#include <algorithm>
#include <optional>

#include "base/text.hpp"
#include "model/byte_sets.hpp"
#include "prove/bytes.hpp"
#include "prove/grain.hpp"
#include "prove/no_reading.hpp"
#include "prove/own_reading.hpp"
#include "prove/sane.hpp"

namespace kvedit::prove {
namespace {

const Axis* axis_of(const Box& box, Role role) {
  for (const Axis& axis : box.axes)
    if (axis.role == role) return &axis;
  return nullptr;
}

std::optional<Failure> misaligned(const LayerFacts& facts, const Box& box) {
  const std::int64_t item = box.item_bytes;
  const std::int64_t own = facts.tensors[box.tensor].dtype.itemsize;
  const auto failure = [&](std::string_view what, std::int64_t value) {
    return Failure{
        Code::misaligned,
        text("its plan has ", what, " of ", value, " bytes for items of ", item,
             " bytes; the rule must give whole items: correct it, or choose smaller ones"),
        {{"value", value}, {"item_bytes", item}}};
  };
  if (own % item != 0 && item % own != 0) return failure("elements", own);
  if (box.offset % item != 0) return failure("an offset", box.offset);
  for (const Axis& axis : box.axes)
    if (axis.extent > 1 && axis.stride % item != 0) return failure("a stride", axis.stride);
  return std::nullopt;
}

Failure miss(const LayerFacts& facts, const Miss& miss) {
  const std::int64_t page = facts.spec->page_size_bytes;
  switch (miss.kind) {
    case Miss::Kind::count:
    case Miss::Kind::blocks:
      return other_blocks(facts, "its block axis", miss);
    case Miss::Kind::page:
      return {Code::not_tiled,
              text(miss.kernel_pages, " entries of its block axis have ", miss.have,
                   " bytes and do not make up one page of ", page,
                   " bytes; correct the rule so that its boxes give the whole page, or "
                   "page_size_bytes if that is another's"),
              {{"page_size_bytes", page}}};
    case Miss::Kind::ratio:
      break;
  }
  if (facts.placed_stride >= 0)
    return {
        Code::placement_mismatch,
        text("its block axis moves ", miss.have, " bytes from entry to entry and the placement ",
             facts.placed_stride,
             " from block to block, no whole number of entries; correct the rule's block axis, or "
             "register the placement of this tensor"),
        {{"block_stride", facts.placed_stride}}};
  return {Code::not_tiled,
          text("an entry of its block axis, ", miss.have, " bytes, does not go into ", miss.want,
               " bytes a whole number of times; correct the rule: an entry is a block or a kernel "
               "page of it"),
          {{"page_size_bytes", page}}};
}

Entries entries_of(const Box& box, const Axis& blocks) {
  Entries entries{blocks.extent, blocks.stride, box.item_bytes};
  for (const Axis& axis : box.axes)
    if (&axis != &blocks) entries.bytes *= axis.extent;
  return entries;
}

std::variant<std::int64_t, Failure> grouped_pages(const LayerFacts& facts, const Plan& plan) {
  std::int64_t pages = 1;
  Int128 bytes = 0;
  for (const Box& box : plan.boxes) {
    const Axis* blocks = axis_of(box, Role::block);
    const Axis* kernel = axis_of(box, Role::kernel_page);
    if (blocks->extent != facts.num_blocks)
      return Failure{
          Code::block_count,
          text("its block axis has ", blocks->extent, " entries for ", facts.num_blocks,
               " blocks; beside a kernel_page axis it has one for each: correct the rule, or "
               "num_blocks"),
          {{"entries", blocks->extent}, {"num_blocks", facts.num_blocks}}};
    if (facts.placed_stride >= 0 && facts.num_blocks > 1 && blocks->stride != facts.placed_stride)
      return Failure{Code::placement_mismatch,
                     text("its plan moves ", blocks->stride,
                          " bytes from block to block and the placement ", facts.placed_stride,
                          "; correct the rule's block axis, or register the placement of this "
                          "tensor"),
                     {{"stride", blocks->stride}, {"block_stride", facts.placed_stride}}};
    const std::int64_t here = kernel ? kernel->extent : 1;
    if (&box != &plan.boxes.front() && here != pages)
      return Failure{Code::not_tiled,
                     text("its boxes have ", pages, " and ", here,
                          " kernel pages a block; correct the rule: all tensors of a layer have "
                          "the same number"),
                     {{"kernel_pages", pages}, {"other_kernel_pages", here}}};
    pages = here;
    bytes += static_cast<Int128>(entries_of(box, *blocks).bytes);
  }
  if (!makes_up_page(*facts.spec, bytes))
    return miss(facts, {Miss::Kind::page, pages, bytes, facts.spec->page_size_bytes});
  return pages;
}

bool explicit_pages(const Plan& plan) {
  for (const Box& box : plan.boxes)
    if (axis_of(box, Role::kernel_page)) return true;
  return false;
}

std::variant<std::int64_t, Failure> derived_pages(const LayerFacts& facts, const Plan& plan) {
  std::vector<Entries> entries;
  for (const Box& box : plan.boxes) entries.push_back(entries_of(box, *axis_of(box, Role::block)));
  const Grain grain = grain_of(facts, entries);
  if (const auto* pages = std::get_if<std::int64_t>(&grain)) return *pages;
  return miss(facts, std::get<Miss>(grain));
}

bool moves_alike(const LayerFacts& facts, std::int64_t a, std::int64_t b) {
  return a == b || facts.num_blocks == 1;
}

Failure outside(const ProvedPage& own, const Stream& stream, const Ranges& owned) {
  const auto stray = std::find_if(stream.ranges.begin(), stream.ranges.end(),
                                  [&](const Range& range) { return !contains(owned, {range}); });
  const std::string where =
      owned.empty() ? text("moves ", stream.block_stride,
                           " bytes from block to block where the layer's "
                           "blocks move ",
                           own.owned.front().block_stride)
                    : text("reads bytes ", stray->offset, " to ", stray->offset + stray->length,
                           " of block 0, which owns ", owned.front().offset, " to ",
                           owned.back().offset + owned.back().length,
                           " there (from the first element of its tensor)");
  return {Code::outside_page,
          text("its plan ", where, "; a rule that knows another order must declare it"),
          {{"read", total(stream.ranges)}, {"owned", total(owned)}}};
}

bool covers(const LayerFacts& facts, const std::vector<Stream>& streams, const Stream& wanted) {
  for (const Stream& stream : streams)
    if (stream.leader == wanted.leader &&
        moves_alike(facts, stream.block_stride, wanted.block_stride) &&
        contains(stream.ranges, wanted.ranges))
      return true;
  return false;
}

/// Whether boxes differ in the roles of their axes at most.
bool same_bytes(const std::vector<Box>& a, const std::vector<Box>& b) {
  const auto same_axes = [](const Axis& x, const Axis& y) {
    return x.extent == y.extent && x.stride == y.stride &&
           (x.role == Role::block) == (y.role == Role::block);
  };
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [&](const Box& x, const Box& y) {
    return x.tensor == y.tensor && x.offset == y.offset && x.item_bytes == y.item_bytes &&
           std::equal(x.axes.begin(), x.axes.end(), y.axes.begin(), y.axes.end(), same_axes);
  });
}

}  // namespace

std::variant<SplitPlan, Failure> split(const LayerFacts& facts, const Plan& plan) {
  for (const Box& box : plan.boxes) {
    if (auto failure = sane(box)) return *failure;
    if (auto failure = misaligned(facts, box)) return *failure;
  }
  const bool grouped = explicit_pages(plan);
  const auto pages = grouped ? grouped_pages(facts, plan) : derived_pages(facts, plan);
  if (const auto* failure = std::get_if<Failure>(&pages)) return *failure;
  SplitPlan split{{}, std::get<std::int64_t>(pages), grouped};
  for (const Box& box : plan.boxes)
    split.boxes.push_back(grouped ? box : split_blocks(box, facts.num_blocks, split.kernel_pages));
  return split;
}

std::optional<Failure> differs(const LayerFacts& facts, const SplitPlan& plan,
                               const ProvedPage& own) {
  if (same_bytes(plan.boxes, own.boxes)) return std::nullopt;
  const auto read = streams_of(footprints_of(facts, plan.boxes));
  if (const auto* failure = std::get_if<Failure>(&read)) return *failure;
  const auto wanted = streams_of(footprints_of(facts, own.boxes));
  if (const auto* failure = std::get_if<Failure>(&wanted)) return *failure;
  const auto& streams = std::get<std::vector<Stream>>(read);
  for (const Stream& stream : streams)
    if (const Ranges owned = ranges_of(facts, own.owned, stream.leader, stream.block_stride);
        !contains(owned, stream.ranges))
      return outside(own, stream, owned);
  for (const Stream& stream : std::get<std::vector<Stream>>(wanted))
    if (!covers(facts, streams, stream))
      return Failure{Code::incomplete,
                     text("its plan misses some of the ", total(stream.ranges),
                          " bytes that a block has in the storage of tensor ", stream.leader,
                          "; the rule must give every axis of the page, or declare another order"),
                     {{"bytes", total(stream.ranges)}}};
  return std::nullopt;
}

}  // namespace kvedit::prove
