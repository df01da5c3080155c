#include <algorithm>
#include <map>
#include <tuple>
#include <vector>

#include <kvedit/explain.hpp>
#include <kvedit/version.hpp>

#include "base/text.hpp"
#include "report/paint.hpp"
#include "report/tensors.hpp"

namespace kvedit {
namespace {

using report::counted;
using report::Ink;
using report::padded;
using report::Painter;

/// Layers that differ only in name and place.
struct Alike {
  std::size_t first = 0;
  std::int64_t count = 0;
  std::vector<std::int32_t> groups;
};

std::vector<Alike> classes_of(const Result& result) {
  std::vector<Alike> classes;
  std::map<std::tuple<Outcome, std::string, std::size_t>, std::size_t> known;
  for (std::size_t l = 0; l < result.layer_count(); ++l) {
    const LayerResult layer = result.layer(l);
    const std::string_view reason = layer.reason();
    const std::string why(reason.substr(0, reason.find(' ')));
    const bool one_class = layer.outcome() != Outcome::excluded;
    const auto [at, added] = known.emplace(
        std::tuple(layer.outcome(), why, one_class ? layer.layer_class() : 0), classes.size());
    if (added) classes.push_back({l, 0, {}});
    Alike& alike = classes[at->second];
    ++alike.count;
    if (std::find(alike.groups.begin(), alike.groups.end(), layer.group()) == alike.groups.end())
      alike.groups.push_back(layer.group());
  }
  return classes;
}

std::string head(const Result& result, const Painter& painter) {
  const RegistrationData& data = result.registration().data();
  std::string line = text("kvedit ", KVEDIT_VERSION, ": ");
  line += data.model.empty() ? "registration" : Painter::clean(data.model);
  if (!data.engine_name.empty())
    line +=
        text(" on ", Painter::clean(data.engine_name), " ", Painter::clean(data.engine_version));
  if (!data.layout.empty()) line += text(", layout ", Painter::clean(data.layout));
  line += text(", ", counted(data.num_blocks, "block", "blocks"), ", profile ",
               to_text(result.options().profile),
               result.options().recurrent_rows == RecurrentRows::page ? " with whole pages" : "",
               ", purpose ", to_text(result.options().purpose));
  const auto errors =
      std::count_if(result.problems().begin(), result.problems().end(),
                    [](const Problem& problem) { return problem.severity == Severity::error; });
  const std::string verdict = result.ok()
                                  ? painter.paint(Ink::good, "ok")
                                  : painter.paint(Ink::bad, counted(errors, "error", "errors"));
  return text(line, "\n", verdict, ": ",
              counted(static_cast<std::int64_t>(result.layer_count()), "layer", "layers"), " in ",
              counted(static_cast<std::int64_t>(result.groups().size()), "group", "groups"), ", ",
              counted(static_cast<std::int64_t>(data.storages.size()), "storage", "storages"),
              result.ok() ? "" : "; no layer is served until every error is gone", "\n");
}

std::string group_line(const GroupResult& group, const Painter& painter) {
  std::string line =
      text("  ", padded(std::to_string(group.index), 4), padded(to_text(group.kind), 24),
           padded(counted(group.layers, "layer", "layers"), 11),
           painter.paint(group.outcome == GroupOutcome::refused ? Ink::bad : Ink::plain,
                         padded(to_text(group.outcome), 10)),
           counted(group.tokens_per_block, "token", "tokens"), " a block");
  if (group.slots_per_block) line += text(", ", counted(*group.slots_per_block, "slot", "slots"));
  if (group.block_bytes) line += text(", ", *group.block_bytes, " bytes");
  return line + "\n";
}

std::string group_names(const std::vector<std::int32_t>& groups) {
  if (groups.size() == 1 && groups[0] < 0) return "no group";
  std::string names = groups.size() == 1 ? "group " : "groups ";
  for (std::size_t i = 0; i < groups.size(); ++i) names += text(i ? ", " : "", groups[i]);
  return names;
}

std::string class_lines(const Result& result, const Alike& alike, const Painter& painter) {
  const LayerResult layer = result.layer(alike.first);
  std::string what = std::string(to_text(layer.outcome()));
  if (!layer.rule().empty())
    what += text(layer.outcome() == Outcome::failed ? ", claimed by " : " by ", layer.rule());
  if (!layer.reason().empty()) what += text(": ", Painter::clean(layer.reason()));
  const Ink ink = layer.outcome() == Outcome::failed ? Ink::bad : Ink::good;
  std::string lines =
      text("  ", painter.paint(Ink::strong, text(alike.count, " x ")), Painter::clean(layer.name()),
           " (", group_names(alike.groups), ") ", painter.paint(ink, what), "\n");
  if (layer.outcome() == Outcome::excluded) return lines;
  const std::string from = report::registered(result, layer, ";\n           ");
  const std::string to = report::views(layer, ";\n           ");
  if (from == to)
    lines += text("      as registered: ", from, "\n");
  else
    lines += text("      from ", from, to.empty() ? "" : "\n      to   ", to, "\n");
  if (const auto pages = layer.pages())
    lines += text("      ", report::page_facts(result, layer, *pages), "\n");
  if (const std::string read = report::read_back(layer); !read.empty())
    lines += text("      ", read, "\n");
  return lines;
}

}  // namespace

std::string explain(const Result& result, const TextOptions& options) {
  const Painter painter(options);
  std::string all = report::problems(result, painter);
  if (!all.empty()) all += "\n";
  all += head(result, painter);
  all += "\ngroups\n";
  for (const GroupResult& group : result.groups()) all += group_line(group, painter);
  all += "\nlayers\n";
  for (const Alike& alike : classes_of(result)) all += class_lines(result, alike, painter);
  if (result.chunk_tokens())
    all += text("\nsmallest legal chunk: ", *result.chunk_tokens(), " tokens\n");
  return all;
}

}  // namespace kvedit
