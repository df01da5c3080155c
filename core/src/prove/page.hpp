#pragma once

#include <variant>
#include <vector>

#include "model/edit.hpp"

namespace kvedit::prove {

/// Owned bytes and payload of the blocks that split boxes describe; or why they are not disjoint
/// (`overlap`). Takes for granted that the boxes make up one page.
std::variant<ProvedPage, Failure> page_of(const LayerFacts& facts, std::vector<Box> boxes,
                                          std::int64_t kernel_pages);

}  // namespace kvedit::prove
