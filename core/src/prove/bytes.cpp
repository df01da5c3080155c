#include "prove/bytes.hpp"

#include "base/text.hpp"

namespace kvedit::prove {
namespace {

Footprint footprint_of(const LayerFacts& facts, const Box& box) {
  Footprint print;
  print.tensor = box.tensor;
  print.leader = storage_leader(facts.tensors, box.tensor);
  print.base = offset_between(facts.tensors[print.leader], facts.tensors[box.tensor]) + box.offset;
  print.inner = Strided(box.item_bytes);
  for (const Axis& axis : box.axes) {
    if (axis.role != Role::block)
      print.inner.add({axis.extent, axis.stride});
    else if (facts.num_blocks > 1)
      print.block_stride = axis.stride;
  }
  print.inner.merge();
  return print;
}

Stream& stream_for(std::vector<Stream>& streams, const Footprint& print) {
  for (Stream& stream : streams)
    if (stream.leader == print.leader && stream.block_stride == print.block_stride) return stream;
  return streams.emplace_back(Stream{print.leader, print.block_stride, {}});
}

}  // namespace

std::vector<Footprint> footprints_of(const LayerFacts& facts, const std::vector<Box>& boxes) {
  std::vector<Footprint> prints;
  prints.reserve(boxes.size());
  for (const Box& box : boxes) prints.push_back(footprint_of(facts, box));
  return prints;
}

Strided all_of(const Box& box) {
  Strided all(box.item_bytes);
  for (const Axis& axis : box.axes) all.add({axis.extent, axis.stride});
  all.merge();
  return all;
}

Int128 bytes_of(const std::vector<Footprint>& prints) {
  Int128 bytes = 0;
  for (const Footprint& print : prints) bytes += print.inner.bytes();
  return bytes;
}

std::variant<std::vector<Stream>, Failure> streams_of(const std::vector<Footprint>& prints) {
  std::vector<Stream> streams;
  for (const Footprint& print : prints) {
    const auto expanded = expand(print.inner, print.base);
    if (!expanded) return too_scattered(print.tensor);
    if (expanded->twice) return met_twice(print.tensor);
    Ranges& ranges = stream_for(streams, print).ranges;
    ranges.insert(ranges.end(), expanded->ranges.begin(), expanded->ranges.end());
  }
  for (Stream& stream : streams)
    if (normalise(stream.ranges)) return met_twice(prints[0].tensor);
  return streams;
}

Failure too_scattered(std::size_t tensor) {
  return {
      Code::bad_geometry,
      text("tensor ", tensor, ": the bytes of one block lie in more than ", max_runs,
           " separate runs; such a page cannot be proved: exclude its group (enable_kv_transfer "
           "false), or register a denser tensor"),
      {{"runs_limit", max_runs}}};
}

Failure met_twice(std::size_t tensor) {
  return {Code::overlap,
          text("tensor ", tensor,
               " addresses a byte twice within a block; its strides are shorter than what they "
               "step over: check shape and stride"),
          {{"tensor", static_cast<std::int64_t>(tensor)}}};
}

}  // namespace kvedit::prove
