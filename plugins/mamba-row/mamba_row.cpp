// Newer engines register a recurrent layer as one tensor of bytes with one row for each block: the
// states, or the whole padded page.

#include <kvedit/rule.hpp>

namespace {

using namespace kvedit::rule;

struct MambaRow {
  static constexpr const char* id = "kvedit.mamba-row";
  static constexpr const char* summary = "recurrent states in one tensor, one row for each block";
  static constexpr int priority = 100;
  static constexpr Tier tier = Tier::standard;

  Answer answer(const Layer& layer) const {
    if (!layer.is(Kind::mamba)) return no_match("kind is {}, not mamba", layer.kind());
    if (layer.tensors() != 1)
      return no_match("{} state tensors, not one row for each block", layer.tensors());
    const Box row = layer.tensor(0).state_row();
    if (!row) return no_match(row.why());
    if (const auto placed = layer.placed_block_stride();
        placed && *placed != layer.tensor(0).stride(0))
      if (const auto at = layer.block_axis(); at && *at != 0)
        return no_match("as placed, axis {} carries the blocks, not axis 0", *at);
    return match(row, "one row of {} bytes for each block in a page of {} bytes", row.block_bytes(),
                 layer.page_bytes());
  }
};

}  // namespace

KVEDIT_RULE_PACK("kvedit.mamba-row", "0.1.0", "kvedit", MambaRow)
