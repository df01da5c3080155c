// Older engines register a recurrent layer as a list: one tensor for each of its states (conv,
// ssm), laid one behind the other in the page of the block, with padding behind the last.

#include <kvedit/rule.hpp>

namespace {

using namespace kvedit::rule;

struct MambaPage {
  static constexpr const char* id = "kvedit.mamba-page";
  static constexpr const char* summary = "recurrent states in several tensors, all in one page";
  static constexpr int priority = 100;
  static constexpr Tier tier = Tier::standard;

  Answer answer(const Layer& layer) const {
    if (!layer.is(Kind::mamba)) return no_match("kind is {}, not mamba", layer.kind());
    if (layer.tensors() < 2)
      return no_match("{} state tensor, not several in one page", layer.tensors());
    const Box page = layer.whole_page();
    if (!page) return no_match(page.why());
    if (const auto placed = layer.placed_block_stride();
        placed && *placed != layer.tensor(0).stride(0))
      if (const auto at = layer.block_axis(); at && *at != 0)
        return no_match("as placed, axis {} carries the blocks, not axis 0", *at);
    return match(page, "{} state tensors lie in one page of {} bytes", layer.tensors(),
                 layer.page_bytes());
  }
};

}  // namespace

KVEDIT_RULE_PACK("kvedit.mamba-page", "0.1.0", "kvedit", MambaPage)
