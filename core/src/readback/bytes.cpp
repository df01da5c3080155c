#include "readback/bytes.hpp"

#include "model/byte_sets.hpp"

namespace kvedit::readback {
namespace {

/// Moves of one storage and step, from the first element of the first tensor in that storage.
struct Gathered {
  std::size_t leader;
  std::int64_t step;
  Ranges ranges;
};

std::vector<Gathered> gather(const LayerClass& of, std::span<const ViewShape> views,
                             std::span<const Moved> all) {
  std::vector<Gathered> gathered;
  for (const Moved& each : all) {
    const ViewShape& view = views[each.tensor];
    const std::size_t leader = storage_leader(of.facts.tensors, view.tensor);
    const std::int64_t base =
        offset_between(of.facts.tensors[leader], of.facts.tensors[view.tensor]) + view.offset;
    Gathered* into = nullptr;
    for (Gathered& known : gathered)
      if (known.leader == leader && (known.step == each.step || of.page->blocks == 1))
        into = &known;
    if (!into) into = &gathered.emplace_back(Gathered{leader, each.step, {}});
    for (const Range& range : each.ranges)
      into->ranges.push_back({base + range.offset, range.length});
  }
  return gathered;
}

}  // namespace

std::vector<Moved> moved(const Entry& entry, Format format, const Geometry& read,
                         std::int64_t stride) {
  const std::int64_t item = entry.dtypes[0].itemsize;
  const std::int64_t plane = read.slots * read.heads * read.width * item;
  switch (format) {
    case Format::planes_heads_first:
    case Format::planes_tokens_first:
    case Format::planes_heads_first_one:
      return {{0, plane, {{0, plane}, {read.blocks * plane, plane}}}};
    case Format::halves_heads_first:
    case Format::halves_tokens_first:
      return {{0, 2 * plane, {{0, 2 * plane}}}};
    case Format::key_value_tuple:
      return {{0, plane, {{0, plane}}}, {1, plane, {{0, plane}}}};
    case Format::latent_tuple: {
      std::vector<Moved> all;
      for (std::size_t t = 0; t < entry.tensors.size(); ++t) {
        const std::int64_t row = entry.tensors[t].shape.back() * entry.dtypes[t].itemsize;
        const std::int64_t bytes = read.slots * row;
        all.push_back({t, t == 0 ? stride * item : bytes, {{0, bytes}}});
      }
      return all;
    }
    default:
      return {{0, stride * item, {{0, plane}}}};
  }
}

BlockMove block_move(std::span<const Moved> all) {
  BlockMove move;
  for (const Moved& each : all) move.bytes += total(each.ranges);
  if (!all.empty()) move.step = all.front().step;
  return move;
}

bool right_bytes(const LayerClass& of, std::span<const ViewShape> views,
                 std::span<const Moved> all) {
  std::int64_t covered = 0;
  for (Gathered& each : gather(of, views, all)) {
    if (normalise(each.ranges)) return false;
    const Ranges owned = ranges_of(of.facts, of.page->owned, each.leader, each.step);
    const Ranges payload = ranges_of(of.facts, of.page->payload, each.leader, each.step);
    if (!contains(owned, each.ranges) || !contains(each.ranges, payload)) return false;
    covered += total(payload);
  }
  return covered == of.page->block_bytes;
}

}  // namespace kvedit::readback
