#include <kvedit/version.hpp>

#include "json/problem_writer.hpp"
#include "verify.hpp"

namespace kvedit::verify {
namespace {

using Layout = TextWriter::Layout;

void write(TextWriter& out, const GroupMove& move) {
  out.open_object();
  out.member("group", move.group);
  out.list("stored", move.from);
  out.list("brought_back", move.to);
  out.close();
}

void write(TextWriter& out, const std::vector<GroupMove>& moves) {
  for (const GroupMove& move : moves) write(out, move);
}

void write(TextWriter& out, const Together& together) {
  out.key("together");
  out.open_object(Layout::lines);
  out.member("tried", together.tried);
  out.member("shared_bytes", together.shared_bytes);
  out.key("moves");
  out.open_array(Layout::lines);
  write(out, together.moves);
  out.close();
  out.close();
}

void write(TextWriter& out, const NaiveReading& naive) {
  out.key("naive");
  out.open_object();
  out.member("is_block", naive.is_block);
  out.member("tried", naive.tried);
  out.member("entries", naive.entries);
  out.member("entry_bytes", naive.entry_bytes);
  out.member("copied_bytes", naive.copied_bytes);
  out.member("right_bytes", naive.right_bytes);
  out.close();
}

void write_figures(TextWriter& out, const LayerCheck& check) {
  out.member("judged_by", check.by_tensors ? "tensors" : "views");
  out.member("blocks", check.blocks);
  out.member("payload_bytes", check.payload_bytes);
  out.member("right_bytes", check.right_bytes);
  out.member("right_in_views", check.right_in_views);
  out.member("untouched_bytes", check.untouched_bytes);
  out.member("damaged_bytes", check.damaged_bytes);
  write(out, check.naive);
}

void write(TextWriter& out, const LayerResult& layer, const LayerCheck* check) {
  out.open_object();
  out.member("name", layer.name());
  write_group(out, "group", layer.group());
  out.member("outcome", to_text(layer.outcome()));
  out.member_or_null("rule", layer.rule());
  out.member_or_null("reason", layer.reason());
  const bool moved = check && check->moved;
  out.key("ok");
  moved ? out.value(check->ok()) : out.null();
  if (moved) {
    out.list("faults", check->faults);
    write_figures(out, *check);
  }
  out.close();
}

void write_report(TextWriter& out, const Report& report) {
  out.member("seed", report.seed);
  out.member("reserved_bytes", report.reserved_bytes);
  out.member("compared_bytes", report.compared_bytes);
  out.list("faults", report.faults);
  out.key("moves");
  out.open_array(Layout::lines);
  write(out, report.moves);
  out.close();
  write(out, report.together);
}

}  // namespace

std::string in_json(const Result& result, const Report* report) {
  TextWriter out(TextWriter::Spacing::spaced);
  out.open_object(Layout::lines);
  out.member("schema", "kvedit.verify/1");
  out.member("ok", report && report->ok());
  out.key("kvedit");
  out.open_object();
  out.member("version", KVEDIT_VERSION);
  out.close();
  out.member("profile", to_text(result.options().profile));
  out.member("purpose", to_text(result.options().purpose));
  out.key("problems");
  out.open_array(Layout::lines);
  for (const Problem& problem : result.problems()) kvedit::write(out, problem);
  out.close();
  if (report) write_report(out, *report);
  out.key("layers");
  out.open_array(Layout::lines);
  for (std::size_t i = 0; i < result.layer_count(); ++i)
    write(out, result.layer(i), report ? &report->layers[i] : nullptr);
  out.close();
  out.close();
  return std::move(out).take() + "\n";
}

}  // namespace kvedit::verify
