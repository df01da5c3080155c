#include <kvedit/diff.hpp>
#include <kvedit/version.hpp>

#include "json/problem_writer.hpp"

namespace kvedit {
namespace {

using Layout = TextWriter::Layout;

void write(TextWriter& out, const LayoutDifference& difference, bool matters) {
  out.open_object();
  out.member("field", difference.field);
  out.member_or_null("a", difference.a);
  out.member_or_null("b", difference.b);
  if (matters) {
    out.member_or_null("layer", difference.layer);
    out.member("layers", difference.layers);
    out.member("consequence", consequence(difference));
  }
  out.close();
}

void write_all(TextWriter& out, std::string_view name, const std::vector<LayoutDifference>& all,
               bool matters) {
  out.key(name);
  out.open_array(matters ? Layout::lines : Layout::line);
  for (const LayoutDifference& each : all) write(out, each, matters);
  out.close();
}

void write(TextWriter& out, const GroupDiff& group) {
  out.open_object(Layout::lines);
  write_group(out, "a", group.a);
  write_group(out, "b", group.b);
  out.member("may_share", group.may_share());
  out.member_or_null("fingerprint_a", group.fingerprint_a);
  out.member_or_null("fingerprint_b", group.fingerprint_b);
  out.list("equal", group.equal);
  write_all(out, "differences", group.differences, true);
  write_all(out, "immaterial", group.immaterial, false);
  out.close();
}

}  // namespace

std::string write_diff(const LayoutDiff& diff) {
  TextWriter out(TextWriter::Spacing::spaced);
  out.open_object(Layout::lines);
  out.member("schema", "kvedit.diff/1");
  out.key("kvedit");
  out.open_object();
  out.member("version", KVEDIT_VERSION);
  out.close();
  out.member("may_share", diff.may_share());
  out.member("ok_a", diff.ok_a);
  out.member("ok_b", diff.ok_b);
  out.member_or_null("fingerprint_a", diff.fingerprint_a);
  out.member_or_null("fingerprint_b", diff.fingerprint_b);
  write_all(out, "differences", diff.differences, true);
  write_all(out, "immaterial", diff.immaterial, false);
  out.key("groups");
  out.open_array(Layout::lines);
  for (const GroupDiff& group : diff.groups) write(out, group);
  out.close();
  out.close();
  return std::move(out).take() + "\n";
}

}  // namespace kvedit
