#pragma once

#include "present/shape.hpp"

namespace kvedit::present {

/// How the page is cut so that LMCache counts its slots: in halves only where its detection takes
/// the second axis for K and V, which it does tokens first, for more than two blocks, and where
/// nothing lies between them.
Cut lmcache_cut(const LayerClass& of, HeadOrder order);

/// Shows an opaque block that is one run of bytes, under axes that LMCache has no format for, in
/// slots of one head; where they do not divide it, it stays.
void cut_unread(const LayerClass& of, HeadOrder order, Shown& shown);

/// LMCache sorts axes by stride. Gives the axis of the only head the stride that puts it behind the
/// tokens, or before them; an axis of extent 1 shows the same bytes with any.
void order_lone_head(std::vector<ViewShape>& views, HeadOrder order);

}  // namespace kvedit::present
