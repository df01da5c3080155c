// The backend works on smaller blocks than the scheduler: k consecutive entries of axis 0, its
// kernel pages, are one block. [NB, 2, kbs, H, D] keeps K and V apart, [NB, H, kbs, C] side by
// side, [NB, kbs, C] has all heads in a row; memory may have tokens or heads outside. Where the
// spec declares several tokens for each state, a page has fewer states; k is counted in bytes.

#include <kvedit/rule.hpp>

namespace {

using namespace kvedit::rule;

struct SubpagedAttention {
  static constexpr const char* id = "kvedit.subpaged-attention";
  static constexpr const char* summary = "attention pages cut into kernel pages along axis 0";
  static constexpr int priority = 100;
  static constexpr Tier tier = Tier::standard;

  Answer answer(const Layer& layer) const {
    if (!layer.is(Kind::full_attention, Kind::sliding_window, Kind::chunked_local_attention,
                  Kind::sink_full_attention))
      return no_match("kind is {}, no attention with K and V that this rule knows", layer.kind());
    if (layer.tensors() != 1) return no_match("{} tensors, not one", layer.tensors());
    const Tensor cache = layer.tensor(0);
    if (cache.rank() < 3 || cache.rank() > 5) return no_match("rank {}, not 3 to 5", cache.rank());
    const Entries k = layer.entries_per_block(0);
    if (!k) return no_match(k.why());
    const std::int64_t entry = cache.entry_bytes(0);
    if (k.count() == 1) return no_match("one entry of {} bytes is one page already", entry);
    if (!cache.outermost(0))
      return no_match("axis 0 steps {} bytes and is not outermost in memory", cache.stride(0));
    if (cache.rank() == 5 && cache.extent(1) != 2)
      return no_match("axis 1 has {} entries, not K and V", cache.extent(1));
    return match(named(layer, cache, k.count()),
                 "{} kernel pages of {} bytes make the page of {} bytes", k.count(), entry,
                 k.count() * entry);
  }

 private:
  // As the engines have it, unless only the other order agrees with the spec's heads and states.
  static Box named(const Layer& layer, const Tensor& cache, std::int64_t k) {
    const auto agree = [&](std::size_t head, std::size_t token) {
      return cache.extent(head) == layer.heads() && cache.extent(token) == layer.slots() / k;
    };
    if (cache.rank() == 5)
      return agree(2, 3) && !agree(3, 2)
                 ? cache.axes(Role::block, Role::kv, Role::head, Role::token, Role::content)
                 : cache.axes(Role::block, Role::kv, Role::token, Role::head, Role::content);
    if (cache.rank() == 3) return cache.axes(Role::block, Role::token, Role::content);
    return agree(2, 1) && !agree(1, 2)
               ? cache.axes(Role::block, Role::token, Role::head, Role::content)
               : cache.axes(Role::block, Role::head, Role::token, Role::content);
  }
};

}  // namespace

KVEDIT_RULE_PACK("kvedit.subpaged-attention", "0.1.0", "kvedit", SubpagedAttention)
