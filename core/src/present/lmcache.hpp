#pragma once

#include "present/shape.hpp"

namespace kvedit::present {

/// How the page is cut so that LMCache counts its slots: in halves only where its detection takes
/// the second axis for K and V, which it does tokens first, for more than two blocks, and where
/// nothing lies between them.
Cut lmcache_cut(const LayerClass& of, HeadOrder order);

/// LMCache sorts axes by stride. Gives the axis of the only head the stride that puts it behind the
/// tokens, or before them; an axis of extent 1 shows the same bytes with any.
void order_lone_head(std::vector<ViewShape>& views, HeadOrder order);

}  // namespace kvedit::present
