#include "fingerprint/canonical.hpp"

#include <vector>

#include "base/text.hpp"
#include "fingerprint/order.hpp"
#include "fingerprint/sha256.hpp"
#include "fingerprint/states.hpp"
#include "model/content.hpp"
#include "model/dtype_names.hpp"
#include "model/elements.hpp"

namespace kvedit::fingerprint {
namespace {

/// A JSON string that escapes only what it must, so that every name has one form.
std::string quoted(std::string_view words) {
  std::string all = "\"";
  for (const char c : words) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\')
      all += {'\\', c};
    else if (byte < 0x20)
      all += {'\\', 'u', '0', '0', "01"[byte >> 4], "0123456789abcdef"[byte & 15]};
    else
      all += c;
  }
  return all + '"';
}

std::string dtype_line(const LayerFacts& facts) {
  const Value* dtype = facts.spec->attribute("dtype");
  if (dtype && dtype->kind == Value::Kind::text)
    return text("dtype ", quoted(long_name(dtype->text)), "\n");
  std::string names;
  std::string_view last;
  for (const Tensor& tensor : facts.tensors) {
    const std::string_view name = long_name(tensor.dtype.name);
    if (name != last) names += " " + quoted(name);
    last = name;
  }
  return text("dtype", names, "\n");
}

/// A word or number of the spec; nothing where it says nothing or what is meant without it.
std::string field_line(const Spec& spec, std::string_view name, std::string_view nothing = {}) {
  const Value* value = spec.attribute(name);
  if (!value) return {};
  if (value->kind == Value::Kind::integer)
    return value->integer == 0 ? "" : text(name, " ", value->integer, "\n");
  if (value->kind != Value::Kind::text || value->text.empty() || value->text == nothing) return {};
  return text(name, " ", quoted(value->text), "\n");
}

std::string attention_lines(const LayerFacts& facts) {
  const Spec& spec = *facts.spec;
  std::string lines = text(dtype_line(facts), "heads ", spec.heads.value_or(1), "\n");
  if (spec.head_size) {
    const std::int64_t value = is_latent(spec) ? 0 : spec.head_size_v.value_or(*spec.head_size);
    lines += text("head_size ", *spec.head_size, " ", value, "\n");
  }
  lines += field_line(spec, "kv_quant_mode", "none");
  lines += field_line(spec, "cache_dtype_str", "auto");
  lines += field_line(spec, "tq_slot_size");
  return lines + field_line(spec, "model_version");
}

std::string state_lines(const LayerFacts& facts) {
  std::string lines;
  for (const State& state : states_of(*facts.spec)) {
    lines += "state " + quoted(state.dtype);
    for (const std::int64_t extent : state.shape) lines += text(" ", extent);
    lines += "\n";
  }
  return lines.empty() ? dtype_line(facts) : lines;
}

/// Content that is not plain may be ordered by kernel page: all values, then all scales.
std::string kernel_page_line(const LayerClass& of) {
  if (of.facts.spec->recurrent() || plain_content(of.facts, of.page->boxes)) return {};
  for (const Box& box : of.page->boxes)
    for (const Axis& axis : box.axes)
      if (axis.role == Role::kernel_page && axis.extent > 1)
        return text("kernel_pages ", axis.extent, "\n");
  return {};
}

class GroupText {
 public:
  explicit GroupText(const Edit& edit)
      : edit_(edit), data_(edit.registration.data()), of_class_(edit.classes.size()) {}

  std::optional<std::string> write(std::size_t group) {
    std::string layers;
    for (const LayerEntry& entry : edit_.layers)
      if (entry.group == static_cast<std::int32_t>(group) && stored(entry)) layers += layer(entry);
    if (layers.empty()) return std::nullopt;
    return text("kvedit.layout/1 group\ntp ", data_.parallel.tp, "\n", layers);
  }

 private:
  static bool stored(const LayerEntry& entry) {
    return entry.outcome == Outcome::edited || entry.outcome == Outcome::passed;
  }

  std::string layer(const LayerEntry& entry) {
    std::string& facts = of_class_[static_cast<std::size_t>(entry.layer_class)];
    if (facts.empty())
      facts = class_lines(edit_.classes[static_cast<std::size_t>(entry.layer_class)]);
    std::string lines = text("layer ", quoted(entry.name), "\n");
    const auto backend = data_.backends.find(std::string(entry.name));
    if (backend != data_.backends.end()) lines += text("backend ", quoted(backend->second), "\n");
    return lines + facts;
  }

  std::string class_lines(const LayerClass& of) const {
    std::string lines = text("kind ", to_text(of.facts.spec->kind), "\n");
    if (of.page->declared && of.rule >= 0) {
      const RuleInfo& rule = edit_.book->infos[static_cast<std::size_t>(of.rule)];
      lines += text("declared ", quoted(rule.id), " ", quoted(rule.version), "\n");
    }
    lines += text("tokens ", of.tokens, "\n", parallel_lines(of), "states ", of.facts.slots,
                  "\nbytes ", of.page->block_bytes, "\n");
    lines += of.facts.spec->recurrent() ? state_lines(of.facts) : attention_lines(of.facts);
    return lines + kernel_page_line(of) + order_lines(of);
  }

  /// Which tokens of a block a rank holds.
  std::string parallel_lines(const LayerClass& of) const {
    const Parallel& parallel = data_.parallel;
    const std::int64_t dcp = of.tokens == of.facts.spec->block_size ? 1 : parallel.dcp;
    if (dcp == 1 && parallel.pcp == 1) return {};
    return text("context_parallel ", dcp, " ", parallel.pcp, " ", parallel.cp_interleave, "\n");
  }

  const Edit& edit_;
  const RegistrationData& data_;
  std::vector<std::string> of_class_;
};

}  // namespace

std::optional<std::string> group_text(const Edit& edit, std::size_t group) {
  if (!edit.ok || group >= edit.groups.size()) return std::nullopt;
  return GroupText(edit).write(group);
}

std::optional<std::string> fingerprint_of(const std::optional<std::string>& text) {
  constexpr std::size_t digits = 32;  // 128 bits
  const auto hash = text ? sha256(*text) : std::nullopt;
  return hash ? std::optional("kvx1-" + hash->substr(0, digits)) : std::nullopt;
}

}  // namespace kvedit::fingerprint
