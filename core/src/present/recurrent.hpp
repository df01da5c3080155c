#pragma once

#include "present/shape.hpp"

namespace kvedit::present {

/// States in one page: the whole page, cut into `block_size` slots where that divides it, else one
/// slot, of bytes when the page is no whole number of elements.
Shown states_in_page(const LayerFacts& facts, const ProvedPage& page, Cut cut);

/// One row of states: cut into `block_size` slots that may reach into the page's own padding; as
/// registered with one slot where no width fits.
Shown state_row(const LayerFacts& facts, const ProvedPage& page, HeadOrder order);

/// The same with the slots spread over the whole page, so that rows touch; one slot where it does
/// not divide.
Shown state_page(const LayerFacts& facts, const ProvedPage& page, HeadOrder order);

/// The order in which every profile but `lmcache` cuts a row.
HeadOrder row_order(std::string_view layout);

}  // namespace kvedit::present
