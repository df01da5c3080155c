#pragma once

#include <cstdint>
#include <span>
#include <variant>

#include "base/int128.hpp"
#include "model/edit.hpp"

namespace kvedit::prove {

/// One tensor or box seen along the axis that carries the blocks.
struct Entries {
  std::int64_t count = 0;
  std::int64_t stride = 0;  // bytes
  std::int64_t bytes = 0;   // of one entry
};

/// Why entries do not make blocks; later ones are nearer to doing so.
struct Miss {
  enum class Kind {
    count,   // entries are no multiple of the blocks
    ratio,   // no whole number of entries has the wanted bytes or stride
    page,    // so many entries have other bytes than a page
    blocks,  // pages fit, and there are more or fewer than blocks
  };

  Kind kind = Kind::count;
  std::int64_t kernel_pages = 0;  // when known
  Int128 have = 0;
  Int128 want = 0;
};

using Grain = std::variant<std::int64_t, Miss>;  // kernel pages per block, or why not

/// How many entries make a block, by the definition's "Reading" and "Makes up one page".
Grain grain_of(const LayerFacts& facts, std::span<const Entries> all);

/// Whether so many bytes of a block make up one page.
bool makes_up_page(const Spec& spec, Int128 bytes);

}  // namespace kvedit::prove
