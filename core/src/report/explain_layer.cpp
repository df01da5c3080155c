#include <algorithm>

#include <kvedit/explain.hpp>

#include "base/text.hpp"
#include "report/paint.hpp"
#include "report/tensors.hpp"

namespace kvedit {
namespace {

using report::Ink;
using report::Painter;

std::string value_text(const Value& value) {
  switch (value.kind) {
    case Value::Kind::null:
      return "null";
    case Value::Kind::boolean:
      return value.integer ? "true" : "false";
    case Value::Kind::integer:
      return std::to_string(value.integer);
    case Value::Kind::real:
      return std::to_string(value.real);
    case Value::Kind::list: {
      std::string all;
      for (const Value& item : value.items) all += text(all.empty() ? "" : ", ", value_text(item));
      return text("[", all, "]");
    }
    case Value::Kind::text:
    case Value::Kind::json:
      break;
  }
  return Painter::clean(value.text);
}

std::string spec_lines(const Spec& spec) {
  std::string lines = text("spec ", Painter::clean(spec.type), ", kind ", to_text(spec.kind), "\n");
  for (const Attribute& field : spec.attributes)
    if (field.name != "type")
      lines += text("  ", report::padded(Painter::clean(field.name), 28), " ",
                    value_text(field.value), "\n");
  return lines;
}

std::string cache_lines(const Cache& cache) {
  std::string lines = "registered\n";
  for (const Tensor& tensor : cache.tensors)
    lines += text("  ", report::list(tensor.shape), " strides ", report::list(tensor.stride), " ",
                  Painter::clean(tensor.dtype.name), ", storage ", Painter::clean(tensor.storage),
                  " from element ", tensor.storage_offset, "\n");
  return lines;
}

std::string tried_lines(const LayerResult& layer, const Painter& painter) {
  std::string lines = "rules asked\n";
  const auto asked = layer.tried();
  if (asked.empty()) return lines + "  none\n";
  for (const Tried& each : asked)
    lines += text("  ", report::padded(Painter::clean(each.rule), 30), " ",
                  painter.paint(each.verdict == Verdict::match ? Ink::good : Ink::plain,
                                report::padded(to_text(each.verdict), 9)),
                  " ", Painter::clean(each.reason), "\n");
  return lines;
}

std::string view_lines(const Result& result, const LayerResult& layer) {
  std::string lines;
  for (std::size_t v = 0; v < layer.view_count(); ++v) {
    const View view = layer.view(v);
    std::string axes;
    for (const Role role : view.axes) axes += text(axes.empty() ? "" : ", ", to_text(role));
    const auto& storages = result.registration().data().storages;
    lines += text("view\n  ", report::list(view.shape), " strides ", report::list(view.stride), " ",
                  Painter::clean(view.dtype->name), ", storage ",
                  Painter::clean(storages[static_cast<std::size_t>(view.storage)].name),
                  " from element ", view.storage_offset, "\n  axes ", axes, "; block ids on axis ",
                  view.block_axis, "\n");
  }
  return lines;
}

std::string part_lines(const Result& result, std::string_view title, std::span<const Part> parts) {
  constexpr std::size_t shown = 8;
  std::string lines = text(title, "\n");
  for (const Part& part : parts) {
    const auto& storages = result.registration().data().storages;
    lines +=
        text("  storage ", Painter::clean(storages[static_cast<std::size_t>(part.storage)].name),
             ", base ", part.base, ", block stride ", part.block_stride, ":");
    for (std::size_t r = 0; r < std::min(part.ranges.size(), shown); ++r)
      lines += text(" [", part.ranges[r].offset, ", +", part.ranges[r].length, ")");
    if (part.ranges.size() > shown) lines += text(" and ", part.ranges.size() - shown, " more");
    lines += "\n";
  }
  return lines;
}

}  // namespace

std::string explain_layer(const Result& result, const LayerResult& layer,
                          const TextOptions& options) {
  const Painter painter(options);
  std::string all = report::problems(result, painter);
  if (!all.empty()) all += "\n";
  all += text("layer ", painter.paint(Ink::strong, layer.name()),
              layer.group() < 0 ? " of no group" : text(" of group ", layer.group()), ": ",
              to_text(layer.outcome()));
  if (!layer.rule().empty())
    all += text(layer.outcome() == Outcome::failed ? ", claimed by " : " by ",
                Painter::clean(layer.rule()));
  if (!layer.reason().empty()) all += text(", ", Painter::clean(layer.reason()));
  if (report::held_back(result, layer))
    all += ", held back: no layer is served until every error is gone";
  all += "\n";
  if (const Spec* spec = report::spec_of(result, layer)) all += spec_lines(*spec);
  if (const Cache* cache = report::cache_of(result, layer)) all += cache_lines(*cache);
  all += tried_lines(layer, painter);
  all += view_lines(result, layer);
  if (const auto pages = layer.pages()) {
    all += text("page\n  ", report::page_facts(result, layer, *pages), ", ", pages->blocks,
                " blocks of ", pages->tokens, " tokens\n");
    if (const std::string read = report::read_back(layer); !read.empty())
      all += text("read back\n  ", read, "\n");
    all += part_lines(result, "payload of a block", pages->parts);
    all += part_lines(result, "owned by a block", layer.owned());
  }
  return all;
}

}  // namespace kvedit
