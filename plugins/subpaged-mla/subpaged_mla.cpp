// Latent caches whose backend works on smaller blocks than the scheduler: k consecutive entries of
// axis 0 are one block. [NB, N, C], or with the one latent head [NB, 1, N, C] or [NB, N, 1, C].
// Where the spec declares several tokens for each state, a page has fewer states; k is counted in
// bytes.

#include <kvedit/rule.hpp>

namespace {

using namespace kvedit::rule;

struct SubpagedMla {
  static constexpr const char* id = "kvedit.subpaged-mla";
  static constexpr const char* summary = "latent pages cut into kernel pages along axis 0";
  static constexpr int priority = 100;
  static constexpr Tier tier = Tier::standard;

  Answer answer(const Layer& layer) const {
    if (!layer.is(Kind::mla_attention, Kind::sliding_window_mla))
      return no_match("kind is {}, not a latent cache", layer.kind());
    if (layer.tensors() != 1) return no_match("{} tensors, not one", layer.tensors());
    const Tensor cache = layer.tensor(0);
    if (cache.rank() != 3 && cache.rank() != 4)
      return no_match("rank {}, not 3 or 4", cache.rank());
    if (cache.rank() == 4 && cache.extent(1) != 1 && cache.extent(2) != 1)
      return no_match("axis 1 has {} entries and axis 2 {}, neither is one latent head",
                      cache.extent(1), cache.extent(2));
    const Entries k = layer.entries_per_block(0);
    if (!k) return no_match(k.why());
    const std::int64_t entry = cache.entry_bytes(0);
    if (k.count() == 1) return no_match("one entry of {} bytes is one page already", entry);
    if (!cache.outermost(0))
      return no_match("axis 0 steps {} bytes and is not outermost in memory", cache.stride(0));
    const Box box = cache.rank() == 3 ? cache.axes(Role::block, Role::token, Role::content)
                    : cache.extent(1) == 1
                        ? cache.axes(Role::block, Role::head, Role::token, Role::content)
                        : cache.axes(Role::block, Role::token, Role::head, Role::content);
    return match(box, "{} kernel pages of {} bytes make the page of {} bytes", k.count(), entry,
                 k.count() * entry);
  }
};

}  // namespace

KVEDIT_RULE_PACK("kvedit.subpaged-mla", "0.1.0", "kvedit", SubpagedMla)
