#include "audit/head_order.hpp"

#include <algorithm>

#include "base/text.hpp"

namespace kvedit::audit {
namespace {

const Axis* axis_of(const Box& box, Role role) {
  const auto found = std::find_if(box.axes.begin(), box.axes.end(),
                                  [&](const Axis& axis) { return axis.role == role; });
  return found == box.axes.end() || found->extent == 1 ? nullptr : found;
}

}  // namespace

std::optional<Failure> another_order_than_the_layout(const LayerClass& of) {
  const std::string_view layout = of.facts.layout;
  if (layout.empty() || of.facts.tensors.size() > 1) return std::nullopt;
  for (const Box& box : of.page->boxes) {
    const Axis* heads = axis_of(box, Role::head);
    const Axis* tokens = axis_of(box, Role::token);
    if (!heads || !tokens || heads->extent == tokens->extent) continue;
    const bool heads_first = heads->stride > tokens->stride;
    if (heads_first == (layout.find('H') < layout.find('N'))) continue;
    return Failure{
        Code::bad_geometry,
        text("layout ", layout, " puts ",
             heads_first ? "tokens outside heads" : "heads outside tokens",
             ", and its tensor the other way round: ", heads->extent, " heads every ",
             heads->stride, " bytes, ", tokens->extent, " tokens every ", tokens->stride,
             ". Blocks are right; who goes by the layout takes other bytes for a token (profile "
             "lmcache does, as LMCache itself). Give the layout that the engine allocated with"),
        {{"layout", std::string(layout)},
         {"head_stride", heads->stride},
         {"token_stride", tokens->stride}},
        Severity::warning};
  }
  return std::nullopt;
}

}  // namespace kvedit::audit
