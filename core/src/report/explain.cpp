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

std::string retention(const GroupResult& group) {
  std::string words = text("retention ", to_text(group.retention));
  if (group.window_tokens) words += text(" of ", counted(*group.window_tokens, "token", "tokens"));
  return words;
}

std::string fingerprint_lines(const Result& result) {
  const auto whole = result.fingerprint();
  if (!whole) return {};
  std::string lines = text("\nlayout fingerprint  ", *whole, "\n");
  for (std::size_t g = 0; g < result.groups().size(); ++g)
    if (const auto group = result.group_fingerprint(g))
      lines += text("  group ", padded(std::to_string(g), 12), *group, "\n");
  return lines;
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
  return text(line, ", ", retention(group), "\n");
}

std::string allocation_line(const Result& result, const Allocation& allocation) {
  const Storage& storage =
      result.registration().data().storages[static_cast<std::size_t>(allocation.storage)];
  std::string line =
      text("  ", padded(Painter::clean(storage.name), 6), " bytes ", allocation.begin, " to ",
           allocation.begin + allocation.length, " of ", storage.nbytes, ", ",
           counted(static_cast<std::int64_t>(allocation.layers.size()), "layer", "layers"));
  if (!storage.device.empty()) line += text(", ", Painter::clean(storage.device));
  return line + "\n";
}

std::string allocation_lines(const Result& result) {
  constexpr std::size_t shown = 4;  // engines have one, or one for each layer
  const std::vector<Allocation> allocations = result.allocations();
  if (allocations.empty()) return {};
  std::string lines = "\nallocations, a range to register for each\n";
  for (std::size_t i = 0; i < std::min(allocations.size(), shown); ++i)
    lines += allocation_line(result, allocations[i]);
  if (allocations.size() > shown)
    lines += text("  and ", allocations.size() - shown, " more; the report lists all\n");
  return lines;
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
  if (report::held_back(result, layer)) what += ", held back";
  const Ink ink = layer.outcome() == Outcome::failed ? Ink::bad
                  : result.ok()                      ? Ink::good
                                                     : Ink::plain;
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
  all += allocation_lines(result);
  all += fingerprint_lines(result);
  if (result.chunk_tokens())
    all += text("\nsmallest legal chunk: ", *result.chunk_tokens(),
                " tokens; its multiples are legal too\n");
  return all;
}

}  // namespace kvedit
