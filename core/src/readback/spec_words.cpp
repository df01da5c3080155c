#include "readback/spec_words.hpp"

#include <algorithm>
#include <string_view>

namespace kvedit::readback {
namespace {

const Spec& first_leaf(const Group& group) {
  if (group.layers.empty()) return group.spec;
  const auto leaf = group.layer_specs.find(group.layers.front());
  return leaf == group.layer_specs.end() ? group.spec : leaf->second;
}

bool is_a(const Spec& spec, std::string_view name) {
  return spec.type == name ||
         std::find(spec.bases.begin(), spec.bases.end(), name) != spec.bases.end();
}

/// By class name, or by kind where the registration gives no bases.
bool attention(const Spec& spec) {
  if (!spec.bases.empty()) return is_a(spec, "AttentionSpec");
  return spec.kind != Kind::mamba && spec.kind != Kind::unknown;
}

bool sliding(const Spec& spec) {
  if (is_a(spec, "SlidingWindowSpec")) return true;
  return spec.kind == Kind::sliding_window || spec.kind == Kind::sliding_window_mla;
}

}  // namespace

bool left_out(const Group& group) { return !first_leaf(group).prefix_cacheable; }

std::int64_t tokens_read(const Group& group, std::int64_t dcp) {
  std::int64_t tokens = group.spec.block_size;
  if (dcp > 1 && attention(first_leaf(group)) && __builtin_mul_overflow(tokens, dcp, &tokens))
    return INT64_MAX;
  return tokens;
}

std::optional<std::int64_t> window_read(const Spec& spec) {
  if (sliding(spec)) {
    const Value* window = spec.attribute("sliding_window");
    if (window && window->kind == Value::Kind::integer) return window->integer;
    return std::nullopt;
  }
  if (spec.recurrent() && (spec.mamba_cache_mode == "align" || spec.mamba_cache_mode == "all"))
    return spec.block_size;
  return std::nullopt;
}

}  // namespace kvedit::readback
