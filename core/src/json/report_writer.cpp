#include <kvedit/rule_abi.h>
#include <kvedit/json.hpp>
#include <kvedit/version.hpp>

#include "json/problem_writer.hpp"

namespace kvedit {
namespace {

using Layout = TextWriter::Layout;
using Names = std::vector<Storage>;

std::string_view storage_name(const Names& storages, std::int32_t storage) {
  const auto at = static_cast<std::size_t>(storage);
  return storage >= 0 && at < storages.size() ? std::string_view(storages[at].name)
                                              : std::string_view();
}

void write(TextWriter& out, const RuleInfo& rule, std::int64_t layers) {
  out.open_object();
  out.member("id", rule.id);
  out.member("pack", rule.pack);
  out.member("version", rule.version);
  out.member("tier", rule.tier);
  out.member("priority", rule.priority);
  out.member_or_null("sha256", rule.sha256);
  out.member("layers", layers);
  out.close();
}

void write(TextWriter& out, const GroupResult& group,
           const std::optional<std::string>& fingerprint) {
  out.open_object();
  out.member("index", group.index);
  out.member("kind", to_text(group.kind));
  out.member("layers", group.layers);
  out.member("outcome", to_text(group.outcome));
  out.member("tokens_per_block", group.tokens_per_block);
  out.member_or_null("slots_per_block", group.slots_per_block);
  out.member_or_null("block_bytes", group.block_bytes);
  out.member("retention", to_text(group.retention));
  out.member_or_null("window_tokens", group.window_tokens);
  out.member_or_null("fingerprint", fingerprint.value_or(""));
  out.close();
}

void write(TextWriter& out, const Allocation& allocation, const Result& result) {
  out.open_object();
  out.member("storage", storage_name(result.registration().data().storages, allocation.storage));
  out.member("base", allocation.begin);
  out.member("nbytes", allocation.length);
  out.key("layers");
  out.open_array();
  for (const std::size_t layer : allocation.layers) out.value(result.layer(layer).name());
  out.close();
  out.close();
}

void write(TextWriter& out, const View& view, const Names& storages) {
  out.open_object();
  out.member("dtype", view.dtype->name);
  out.list("shape", view.shape);
  out.list("stride", view.stride);
  out.member("storage_offset", view.storage_offset);
  out.member_or_null("storage", storage_name(storages, view.storage));
  out.member("block_axis", view.block_axis);
  out.key("axes");
  out.open_array();
  for (const Role role : view.axes) out.value(to_text(role));
  out.close();
  out.close();
}

void write_views(TextWriter& out, const LayerResult& layer, const Names& storages) {
  out.key("view");
  const std::size_t count = layer.view_count();
  if (count == 0) return out.null();
  if (count == 1) return write(out, layer.view(0), storages);
  out.open_array();
  for (std::size_t i = 0; i < count; ++i) write(out, layer.view(i), storages);
  out.close();
}

void write(TextWriter& out, const Part& part, const Names& storages) {
  out.open_object();
  out.member_or_null("storage", storage_name(storages, part.storage));
  out.member("base", part.base);
  out.member("block_stride", part.block_stride);
  out.key("ranges");
  out.open_array();
  for (const Range& range : part.ranges) {
    out.open_array();
    out.value(range.offset);
    out.value(range.length);
    out.close();
  }
  out.close();
  out.close();
}

void write_content(TextWriter& out, const std::optional<Content>& content) {
  out.key("content");
  if (!content) return out.null();
  out.open_object();
  out.member("form", to_text(content->form));
  out.member("key_elements", content->key_elements);
  out.member("value_elements", content->value_elements);
  out.close();
}

void write_pages(TextWriter& out, const LayerResult& layer, const Names& storages) {
  const std::optional<PageMap> pages = layer.pages();
  out.key("pages");
  if (!pages) return out.null();
  out.open_object();
  out.member("blocks", pages->blocks);
  out.key("parts");
  out.open_array();
  for (const Part& part : pages->parts) write(out, part, storages);
  out.close();
  out.member("block_bytes", pages->block_bytes);
  out.member("kernel_pages", pages->kernel_pages);
  out.member("slots", pages->slots);
  out.member("tokens", pages->tokens);
  out.member("opaque", pages->opaque);
  out.member_or_null("opaque_because", layer.opaque_because());
  write_content(out, layer.content());
  out.member("order", pages->declared ? "declared" : "proved");
  out.close();
}

void write(TextWriter& out, const ReadBack& read) {
  out.open_object();
  out.member("format", read.format);
  out.member("planes", read.planes);
  out.member("blocks", read.blocks);
  out.member("slots", read.slots);
  out.member("heads", read.heads);
  out.member("width", read.width);
  out.member("block_bytes", read.block_bytes);
  out.member("block_stride", read.block_stride);
  out.close();
}

void write(TextWriter& out, const LayerResult& layer, const Names& storages) {
  out.open_object();
  out.member("name", layer.name());
  write_group(out, "group", layer.group());
  out.member("outcome", to_text(layer.outcome()));
  out.member_or_null("rule", layer.rule());
  out.member_or_null("reason", layer.reason());
  write_views(out, layer, storages);
  write_pages(out, layer, storages);
  if (const auto read = layer.read_back()) {
    out.key("read_back");
    write(out, *read);
  }
  out.key("tried");
  out.open_array();
  for (const Tried& tried : layer.tried()) {
    out.open_object();
    out.member("rule", tried.rule);
    out.member("answer", to_text(tried.verdict));
    out.member_or_null("reason", tried.reason);
    out.close();
  }
  out.close();
  out.close();
}

void write_head(TextWriter& out, const Result& result) {
  out.member("schema", "kvedit.report/1");
  out.member("ok", result.ok());
  out.key("kvedit");
  out.open_object();
  out.member("version", KVEDIT_VERSION);
  out.member("rule_abi", std::to_string(KVEDIT_RULE_ABI_MAJOR));
  out.close();
  out.member("profile", to_text(result.options().profile));
  out.member("purpose", to_text(result.options().purpose));
  if (result.options().profile == Profile::lmcache)
    out.member("recurrent_rows", to_text(result.options().recurrent_rows));
}

void write_rules(TextWriter& out, const Result& result) {
  const std::vector<std::int64_t> claimed = result.layers_claimed();
  const auto rules = result.rules();
  out.key("rules");
  out.open_array(Layout::lines);
  for (std::size_t i = 0; i < rules.size(); ++i)
    write(out, rules[i], i < claimed.size() ? claimed[i] : 0);
  out.close();
}

}  // namespace

std::string write_report(const Result& result) {
  TextWriter out(TextWriter::Spacing::spaced);
  out.open_object(Layout::lines);
  write_head(out, result);
  write_rules(out, result);
  out.key("problems");
  out.open_array(Layout::lines);
  for (const Problem& problem : result.problems()) write(out, problem);
  out.close();
  out.key("groups");
  out.open_array(Layout::lines);
  for (std::size_t g = 0; g < result.groups().size(); ++g)
    write(out, result.groups()[g], result.group_fingerprint(g));
  out.close();
  out.member_or_null("chunk_tokens", result.chunk_tokens());
  out.member_or_null("fingerprint", result.fingerprint().value_or(""));
  out.key("allocations");
  out.open_array(Layout::lines);
  for (const Allocation& allocation : result.allocations()) write(out, allocation, result);
  out.close();
  out.key("layers");
  out.open_array(Layout::lines);
  const Names& storages = result.registration().data().storages;
  for (std::size_t i = 0; i < result.layer_count(); ++i) write(out, result.layer(i), storages);
  out.close();
  out.close();
  return std::move(out).take() + "\n";
}

}  // namespace kvedit
