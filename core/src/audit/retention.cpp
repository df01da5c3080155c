#include "audit/retention.hpp"

#include <algorithm>

namespace kvedit::audit {
namespace {

Retention retention_of(const Spec& spec) {
  if (!spec.prefix_cacheable) return Retention::scratch;
  switch (spec.kind) {
    case Kind::mamba:
      return Retention::recurrent;
    case Kind::sliding_window:
    case Kind::sliding_window_mla:
      return Retention::window;
    case Kind::chunked_local_attention:
      return Retention::chunk;
    default:
      // Also a full_attention spec that names a window: the engine then keeps every block.
      return Retention::full;
  }
}

std::optional<std::int64_t> window_of(const Spec& spec) {
  const Value* window = spec.attribute("sliding_window");
  if (!window || window->kind != Value::Kind::integer || window->integer <= 0) return std::nullopt;
  return window->integer;
}

/// The more of a request is kept, the lower.
int rank(Retention retention) {
  switch (retention) {
    case Retention::full:
      return 0;
    case Retention::chunk:
      return 1;
    case Retention::window:
      return 2;
    case Retention::recurrent:
      return 3;
    case Retention::scratch:
      break;
  }
  return 4;
}

Kept kept(const Spec& spec) {
  const Retention retention = retention_of(spec);
  return {retention, retention == Retention::window ? window_of(spec) : std::nullopt};
}

void keep_longer(Kept& all, const Kept& next) {
  if (rank(next.retention) > rank(all.retention)) return;
  if (rank(next.retention) < rank(all.retention)) {
    all = next;
  } else if (all.window_tokens && next.window_tokens) {
    all.window_tokens = std::max(*all.window_tokens, *next.window_tokens);
  } else {
    all.window_tokens.reset();  // one of them does not say how far it reaches back
  }
}

}  // namespace

Kept retention_of(const Spec& own, std::span<const LayerRef> layers) {
  if (layers.empty()) return kept(own);
  const Spec* last = layers.front().spec;
  Kept all = kept(*last);
  for (const LayerRef& layer : layers) {
    if (layer.spec == last) continue;  // equal specs have one address
    last = layer.spec;
    keep_longer(all, kept(*last));
  }
  return all;
}

}  // namespace kvedit::audit
