#pragma once

#include <optional>

#include "present/shape.hpp"

namespace kvedit::present {

/// One view for each tensor, as registered; axes as the boxes name them.
Shown as_registered(const LayerFacts& facts, const ProvedPage& page);

/// Kernel pages merged into the page: by synthetic axes where a block is one run of bytes and its
/// layer no latent one, else into the axis that the kernel pages continue. Pages on an axis of the
/// tensor's own are merged into that axis where they can. Nothing when slots do not divide the run.
std::optional<Shown> sub_paged(const LayerFacts& facts, const ProvedPage& page, Cut cut);

}  // namespace kvedit::present
