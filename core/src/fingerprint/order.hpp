#pragma once

#include <string>

#include "model/edit.hpp"

namespace kvedit::fingerprint {

/// Lines that say in which order the stored bytes of a block carry heads, states and content;
/// docs/fingerprint.md, "Order".
std::string order_lines(const LayerClass& of);

/// Bytes of one element by the spec's dtype, else the registered one.
std::int64_t element_bytes(const LayerFacts& facts);

}  // namespace kvedit::fingerprint
