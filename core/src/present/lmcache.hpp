#pragma once

#include "present/shape.hpp"

namespace kvedit::present {

/// How the page is cut so that LMCache counts its slots: in halves only where its detection takes
/// the second axis for K and V, which it does tokens first, for more than two blocks, and where
/// nothing lies between them.
Cut lmcache_cut(const LayerClass& of, HeadOrder order);

/// Where LMCache has no format for the axes, or would count other slots in a block than there are:
/// shows each block that is one run of bytes, or two planes of them, in slots of one head. Where
/// they do not divide it, it stays. Slots are at most the tokens of a block, which LMCache asks
/// for.
void cut_miscounted(const LayerClass& of, HeadOrder order, std::vector<ViewShape>& views);

/// LMCache wants the stride of the block axis to reach behind the block, also where there is but
/// one block and it shows nothing.
void settle_lone_block(std::vector<ViewShape>& views);

/// LMCache sorts axes by stride. Gives the axis of the only head the stride that puts it behind the
/// tokens, or before them; an axis of extent 1 shows the same bytes with any.
void order_lone_head(std::vector<ViewShape>& views, HeadOrder order);

}  // namespace kvedit::present
