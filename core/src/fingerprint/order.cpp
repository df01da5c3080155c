#include "fingerprint/order.hpp"

#include <algorithm>

#include "base/text.hpp"
#include "fingerprint/sha256.hpp"
#include "fingerprint/states.hpp"
#include "fingerprint/stream.hpp"
#include "model/content.hpp"
#include "model/elements.hpp"

namespace kvedit::fingerprint {
namespace {

/// Bytes of K, and of V, of one head and state; 0 where they differ or are none.
std::int64_t plane_bytes(const LayerFacts& facts) {
  const Spec& spec = *facts.spec;
  if (spec.recurrent() || spec.kind == Kind::unknown || is_latent(spec)) return 0;
  if (spec.head_size.value_or(0) <= 0) return 0;
  if (spec.head_size_v.value_or(*spec.head_size) != *spec.head_size) return 0;
  std::int64_t bytes = 0;
  const bool fits = !__builtin_mul_overflow(*spec.head_size, element_bytes(facts), &bytes);
  return fits ? bytes : 0;
}

/// K beside V in one content axis is a `kv` axis outside a content axis of half the bytes.
void split_content(StreamBox& box, std::int64_t plane) {
  StreamAxis& content = box.axes.back();
  if (plane <= 0 || content.role != "content" || content.stride != 1 || content.extent % 2 != 0 ||
      content.extent / 2 != plane)
    return;
  const auto other = std::find_if(box.axes.begin(), box.axes.end() - 1, [](const StreamAxis& axis) {
    return axis.role == "kv" || axis.role == "content";
  });
  if (other != box.axes.end() - 1) return;
  content.extent = plane;
  box.axes.insert(box.axes.end() - 1, {"kv", 2, plane, 0, 0});
}

bool same_axes(const StreamBox& a, const StreamBox& b) {
  return std::equal(a.axes.begin(), a.axes.end(), b.axes.begin(), b.axes.end(),
                    [](const StreamAxis& x, const StreamAxis& y) {
                      return x.role == y.role && x.extent == y.extent && x.stride == y.stride &&
                             x.first == y.first && x.last == y.last && x.role != "kv";
                    });
}

/// K in one tensor and V in the next are a `kv` axis.
void join_tensors(std::vector<StreamBox>& boxes, std::int64_t plane) {
  if (boxes.size() != 2 || plane <= 0 || !same_axes(boxes[0], boxes[1])) return;
  const StreamAxis& content = boxes[0].axes.back();
  if (content.role != "content" || content.extent != plane || boxes[1].at <= boxes[0].at) return;
  const StreamAxis planes{"kv", 2, boxes[1].at - boxes[0].at, 0, 0};
  auto& axes = boxes[0].axes;
  axes.insert(std::find_if(axes.begin(), axes.end(),
                           [&](const StreamAxis& axis) { return axis.stride < planes.stride; }),
              planes);
  boxes.pop_back();
}

/// Several axes of one role that could not be merged are told apart by their logical order.
std::string axis_text(const StreamBox& box, const StreamAxis& axis) {
  const auto same = std::count_if(box.axes.begin(), box.axes.end(),
                                  [&](const StreamAxis& other) { return other.role == axis.role; });
  const std::string role = same > 1 ? text(axis.role, ".", axis.first) : std::string(axis.role);
  return text(" ", role, ":", axis.extent, ":", axis.stride);
}

std::string box_line(std::string_view word, const StreamBox& box) {
  std::string line = text(word, " ", box.at);
  for (const StreamAxis& axis : box.axes) line += axis_text(box, axis);
  return line + "\n";
}

/// What follows no axes is told as it lies in memory; of its ranges, which may be many, the hash.
std::string scattered_lines(const LayerClass& of) {
  std::string lines, ranges;
  for (const Box& box : of.page->boxes) {
    lines += text("scattered ", box.tensor, " ", box.offset, " ", box.item_bytes);
    for (const Axis& axis : box.axes)
      if (axis.role != Role::block)
        lines += text(" ", to_text(axis.role), ":", axis.extent, ":", axis.stride);
    lines += "\n";
  }
  for (const PartShape& part : of.page->payload)
    for (const Range& range : part.ranges)
      ranges += text(part.tensor, " ", part.offset + range.offset, " ", range.length, "\n");
  return lines + text("ranges ", sha256(ranges).value_or(ranges), "\n");
}

/// Tensors that one box of a rule covers: their own axes say what lies where.
std::optional<std::string> tensor_lines(const LayerClass& of, const Stream& stream) {
  std::string lines;
  for (std::size_t t = 0; t < of.facts.tensors.size(); ++t) {
    const auto box = without_blocks(of.facts, static_cast<std::uint32_t>(t), of.page->payload);
    const auto placed = box ? stream.place(*box) : std::nullopt;
    if (!placed) return std::nullopt;
    lines += box_line(text("tensor ", t), *placed);
  }
  return lines;
}

}  // namespace

std::int64_t element_bytes(const LayerFacts& facts) {
  const Value* dtype = facts.spec->attribute("dtype");
  const auto known = dtype ? find_dtype(dtype->text) : std::nullopt;
  return known ? known->itemsize : facts.tensors[0].dtype.itemsize;
}

std::string order_lines(const LayerClass& of) {
  const LayerFacts& facts = of.facts;
  if (facts.spec->recurrent() && states_in_order(of, states_of(*facts.spec)))
    return "order states\n";
  const Stream stream(facts, of.page->payload);
  std::vector<StreamBox> boxes;
  const std::int64_t plane = plane_bytes(facts);
  for (const Box& box : of.page->boxes) {
    auto placed = stream.place(box);
    if (!placed) return scattered_lines(of);
    if (of.page->boxes.size() == 1) split_content(*placed, plane);
    boxes.push_back(std::move(*placed));
  }
  const bool one_for_all = of.page->boxes.size() < facts.tensors.size();
  join_tensors(boxes, plane);
  std::string lines;
  for (const StreamBox& box : boxes) lines += box_line("order", box);
  if (!one_for_all) return lines;
  const auto tensors = tensor_lines(of, stream);
  return tensors ? lines + *tensors : scattered_lines(of);
}

}  // namespace kvedit::fingerprint
