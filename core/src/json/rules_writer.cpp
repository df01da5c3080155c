#include <kvedit/json.hpp>

#include <kvedit/rule_abi.h>
#include <kvedit/host.hpp>
#include <kvedit/version.hpp>

#include "json/text_writer.hpp"

namespace kvedit {
namespace {

using Layout = TextWriter::Layout;

const PackInfo* pack_of(const Host& host, const RuleInfo& rule) {
  for (const PackInfo& pack : host.packs())
    if (pack.state == PackInfo::State::loaded && pack.id == rule.pack) return &pack;
  return nullptr;
}

void write(TextWriter& out, const Host& host, const RuleInfo& rule) {
  const PackInfo* pack = pack_of(host, rule);
  out.open_object();
  out.member("id", rule.id);
  out.member("pack", rule.pack);
  out.member("version", rule.version);
  out.member("tier", rule.tier);
  out.member("priority", rule.priority);
  out.member_or_null("origin", pack ? std::string_view(pack->origin) : std::string_view());
  out.member_or_null("sha256", rule.sha256);
  out.close();
}

void write(TextWriter& out, const PackInfo& pack) {
  out.open_object();
  out.member("path", pack.path);
  out.member("origin", pack.origin);
  out.member("state", to_text(pack.state));
  out.member_or_null("reason", pack.reason);
  out.member_or_null("id", pack.id);
  out.member_or_null("version", pack.version);
  out.member_or_null("vendor", pack.vendor);
  out.member_or_null("sha256", pack.sha256);
  out.list("rules", pack.rules);
  out.close();
}

}  // namespace

std::string write_rules(const Host& host) {
  TextWriter out(TextWriter::Spacing::spaced);
  out.open_object(Layout::lines);
  out.member("schema", "kvedit.rules/1");
  out.key("kvedit");
  out.open_object();
  out.member("version", KVEDIT_VERSION);
  out.member("rule_abi", std::to_string(KVEDIT_RULE_ABI_MAJOR));
  out.close();
  out.key("rules");
  out.open_array(Layout::lines);
  for (const RuleInfo& rule : host.rules()) write(out, host, rule);
  out.close();
  out.key("packs");
  out.open_array(Layout::lines);
  for (const PackInfo& pack : host.packs()) write(out, pack);
  out.close();
  out.close();
  return std::move(out).take() + "\n";
}

}  // namespace kvedit
