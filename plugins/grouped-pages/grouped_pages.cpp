// Newer engines group the kernel pages of a block before they register a cache: an entry of axis 0
// is a block, axis 1 its pages. [B, k, H, N, C] or [B, k, N, H, C], latent [B, k, N, C]. That
// needs no rule; this one names the axes, so that the states of all pages can become one axis.

#include <kvedit/rule.hpp>

namespace {

using namespace kvedit::rule;

struct GroupedPages {
  static constexpr const char* id = "kvedit.grouped-pages";
  static constexpr const char* summary = "kernel pages of a block on an axis of their own";
  static constexpr int priority = 100;
  static constexpr Tier tier = Tier::standard;

  Answer answer(const Layer& layer) const {
    const bool latent = layer.is(Kind::mla_attention, Kind::sliding_window_mla);
    if (!latent && !layer.is(Kind::full_attention, Kind::sliding_window,
                             Kind::chunked_local_attention, Kind::sink_full_attention))
      return no_match("kind is {}, no attention that this rule knows", layer.kind());
    if (layer.tensors() != 1) return no_match("{} tensors, not one", layer.tensors());
    const Tensor cache = layer.tensor(0);
    if (cache.rank() != 5 && !(latent && cache.rank() == 4))
      return no_match("rank {} has no axis for kernel pages", cache.rank());
    if (layer.block_axis() != 0U) return no_match("axis 0 does not carry the blocks");
    if (const Entries k = layer.entries_per_block(0); k.count() != 1)
      return no_match("{} entries of axis 0 make a block", k.count());
    const Box box = named(layer, cache, latent);
    if (box.find(Role::kernel_page) == box.rank())
      return no_match("{} entries of axis 1 are no kernel pages that share {} states and {} heads",
                      cache.extent(1), layer.slots(), layer.heads());
    return match(box, "{} kernel pages on axis 1 share the {} states of a block", cache.extent(1),
                 layer.slots());
  }

 private:
  // Axis 1 counts pages, and not K and V, if that gives the spec's states and heads.
  static Box named(const Layer& layer, const Tensor& cache, bool latent) {
    const std::int64_t pages = cache.extent(1), heads = latent ? 1 : layer.heads();
    const auto states = [&](std::size_t axis) {
      return pages > 1 && layer.slots() % pages == 0 && cache.extent(axis) == layer.slots() / pages;
    };
    if (cache.rank() == 4)
      return states(2) && cache.extent(2) > 1
                 ? cache.axes(Role::block, Role::kernel_page, Role::token, Role::content)
                 : cache.axes(Role::block, Role::token, Role::head, Role::content);
    if (cache.extent(2) == heads && states(3))
      return cache.axes(Role::block, Role::kernel_page, Role::head, Role::token, Role::content);
    if (cache.extent(3) == heads && states(2))
      return cache.axes(Role::block, Role::kernel_page, Role::token, Role::head, Role::content);
    return cache.axes(Role::block, Role::kv, Role::token, Role::head, Role::content);
  }
};

}  // namespace

KVEDIT_RULE_PACK("kvedit.grouped-pages", "0.1.0", "kvedit", GroupedPages)
