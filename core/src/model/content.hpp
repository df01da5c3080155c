#pragma once

#include <optional>
#include <span>

#include <kvedit/result.hpp>

#include "base/int128.hpp"
#include "model/edit.hpp"

namespace kvedit {

/// Where K and V lie in a page whose boxes name their axes; nothing where elements are not plain K
/// and V (or a latent) of a head by position: packed, quantised, an indexer's, or of no known kind.
std::optional<Content> plain_content(const LayerFacts& facts, std::span<const Box> boxes);

/// Bytes of a block that the axes of the page's boxes show, all its kernel pages.
Int128 shown_bytes(const ProvedPage& page);

/// Whether there is payload that no axis shows: scales, say.
bool hides_payload(const ProvedPage& page);

/// Why a class is opaque; empty when it is not.
std::string_view opaque_because(const LayerClass& of);

}  // namespace kvedit
