// K and V, or heads, lie outside the blocks: [2, NB, kbs, H, D] or [H, NB, kbs, C], in this or
// another order in memory, or as one tensor for each. The blocks are cut into kernel pages: in
// every plane k consecutive entries of the block axis are one block.

#include <kvedit/rule.hpp>

namespace {

using namespace kvedit::rule;

struct KvPlanes {
  static constexpr const char* id = "kvedit.kv-planes";
  static constexpr const char* summary = "kernel pages with K and V, or heads, outside the blocks";
  static constexpr int priority = 100;
  static constexpr Tier tier = Tier::standard;

  Answer answer(const Layer& layer) const {
    if (!layer.is(Kind::full_attention, Kind::sliding_window, Kind::chunked_local_attention,
                  Kind::sink_full_attention, Kind::mla_attention, Kind::sliding_window_mla))
      return no_match("kind is {}, no attention that this rule knows", layer.kind());
    const auto at = layer.block_axis();
    if (!at || *at > 1)
      return no_match("neither of axes 0 and 1, or both, have entries that make blocks");
    const std::int64_t k = layer.entries_per_block(*at).count();
    if (k == 1) return no_match("one entry of axis {} is one page already", *at);
    if (layer.tensors() == 1 && *at == 0 && layer.tensor(0).outermost(0))
      return no_match("axis 0 carries the blocks and nothing lies outside it");
    for (std::size_t i = 0; i < layer.tensors(); ++i)
      if (const Box box = named(layer, i, *at, k); !box) return no_match(box.why());
    Answer planes = match(named(layer, 0, *at, k), "{} entries of axis {} make a page of {} bytes",
                          k, *at, layer.page_bytes());
    for (std::size_t i = 1; i < layer.tensors(); ++i) planes.with(named(layer, i, *at, k));
    return planes;
  }

 private:
  // The axes beside the blocks as the engines have them, unless only the other order of heads and
  // tokens agrees with the spec. A pool of tokens has kernel pages of one token and no token axis.
  static Box named(const Layer& layer, std::size_t tensor, std::size_t at, std::int64_t k) {
    const Tensor plane = layer.tensor(tensor);
    const std::int64_t tokens = layer.slots() / k;
    const auto beside = [&](std::size_t i) { return plane.extent(i < at ? i : i + 1); };
    const auto agree = [&](std::size_t head, std::size_t token) {
      return beside(head) == layer.heads() && beside(token) == tokens;
    };
    if (plane.rank() == 5)
      return agree(1, 2) && !agree(2, 1)
                 ? plane.axes_beside(at, Role::kv, Role::head, Role::token, Role::content)
                 : plane.axes_beside(at, Role::kv, Role::token, Role::head, Role::content);
    if (plane.rank() == 4 && agree(1, 0) && !agree(0, 1))
      return plane.axes_beside(at, Role::token, Role::head, Role::content);
    if (plane.rank() == 4)
      return tokens == 1 && beside(0) == 2 && beside(1) == layer.heads() && !agree(0, 1)
                 ? plane.axes_beside(at, Role::kv, Role::head, Role::content)
                 : plane.axes_beside(at, Role::head, Role::token, Role::content);
    if (at != 0) return plane.axes_beside(at, Role::kv, Role::content);
    return tokens == 1 && beside(0) == layer.heads()
               ? plane.axes_beside(at, Role::head, Role::content)
               : plane.axes_beside(at, Role::token, Role::content);
  }
};

}  // namespace

KVEDIT_RULE_PACK("kvedit.kv-planes", "0.1.0", "kvedit", KvPlanes)
