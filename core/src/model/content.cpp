#include "model/content.hpp"

#include <algorithm>

#include "model/dtype_names.hpp"
#include "model/elements.hpp"

namespace kvedit {
namespace {

bool is_float(const DType& dtype) {
  constexpr std::uint8_t signed_integer = 0, unsigned_integer = 1, boolean = 6;
  return dtype.code != signed_integer && dtype.code != unsigned_integer && dtype.code != boolean &&
         dtype.code != DType::opaque_code && dtype.lanes == 1;
}

/// The registered dtype may only be the one in which engines store another.
bool elements_are_as_specified(const LayerFacts& facts, const Box& box) {
  const DType& own = facts.tensors[box.tensor].dtype;
  if (box.item_bytes != own.itemsize || !is_float(own)) return false;
  const Value* dtype = facts.spec->attribute("dtype");
  if (!dtype || dtype->kind != Value::Kind::text) return true;
  return long_name(dtype->text) == long_name(own.name);
}

/// Extents of a box by what its axes carry.
struct Extents {
  std::int64_t heads = 1, states = 1, content = 1;
  bool planes = false, named = true;

  explicit Extents(const Box& box) {
    bool has_content = false;
    for (const Axis& axis : box.axes) add(axis, has_content);
    named = named && has_content;
  }

 private:
  void add(const Axis& axis, bool& has_content) {
    switch (axis.role) {
      case Role::head:
        heads *= axis.extent;
        break;
      case Role::token:
      case Role::kernel_page:
        states *= axis.extent;
        break;
      case Role::content:
        content *= axis.extent;
        has_content = true;
        break;
      case Role::kv:
        named = named && !planes && axis.extent == 2;
        planes = true;
        break;
      case Role::block:
        break;
      case Role::opaque:
        named = false;
    }
  }
};

bool of_heads_and_states(const LayerFacts& facts, const Box& box) {
  const Extents extents(box);
  return extents.named && extents.heads == facts.spec->heads.value_or(1) &&
         extents.states == facts.slots;
}

bool has_role(std::span<const Box> boxes, Role role) {
  return std::any_of(boxes.begin(), boxes.end(), [&](const Box& box) {
    return std::any_of(box.axes.begin(), box.axes.end(),
                       [&](const Axis& axis) { return axis.role == role; });
  });
}

}  // namespace

Int128 shown_bytes(const ProvedPage& page) {
  Int128 shown = 0;
  for (const Box& box : page.boxes) {
    Int128 bytes = box.item_bytes;
    for (const Axis& axis : box.axes)
      if (axis.role != Role::block) bytes *= axis.extent;
    shown += bytes;
  }
  return shown;
}

bool hides_payload(const ProvedPage& page) {
  return page.window && shown_bytes(page) < page.block_bytes;
}

std::optional<Content> plain_content(const LayerFacts& facts, std::span<const Box> boxes) {
  const Spec& spec = *facts.spec;
  if (facts.private_order || spec.recurrent() || spec.kind == Kind::unknown || !spec.head_size ||
      !plain_elements(spec))
    return std::nullopt;
  for (const Box& box : boxes)
    if (!elements_are_as_specified(facts, box) || !of_heads_and_states(facts, box))
      return std::nullopt;
  const std::int64_t key = *spec.head_size;
  const std::int64_t value = is_latent(spec) ? 0 : spec.head_size_v.value_or(key);
  const Extents first(boxes.front());
  const Content planes{Content::Form::kv_axis, key, value};
  const Content tensors{Content::Form::kv_tensors, key, value};
  if (boxes.size() == 1 && first.planes)
    return value == key && first.content == key ? std::optional(planes) : std::nullopt;
  if (boxes.size() == 2) {
    const Extents second(boxes.back());
    const bool apart = value > 0 && !first.planes && !second.planes && boxes[0].tensor == 0;
    return apart && first.content == key && second.content == value ? std::optional(tensors)
                                                                    : std::nullopt;
  }
  if (boxes.size() != 1 || Int128{key} + value != first.content) return std::nullopt;
  if (is_latent(spec)) return Content{Content::Form::latent, key, 0};
  return Content{value == 0 ? Content::Form::key : Content::Form::k_beside_v, key, value};
}

std::string_view opaque_because(const LayerClass& of) {
  if (!of.opaque) return {};
  if (of.facts.spec->recurrent()) return "recurrent";
  if (of.facts.private_order) return "backend";
  if (!of.page) return "content";
  const std::vector<Box>& boxes = of.page->boxes;
  if (has_role(boxes, Role::kernel_page) && plain_content(of.facts, boxes) &&
      !hides_payload(*of.page))
    return "kernel-pages";
  return has_role(boxes, Role::opaque) ? "axes" : "content";
}

}  // namespace kvedit
