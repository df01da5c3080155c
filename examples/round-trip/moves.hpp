#pragma once

#include <kvedit/addresses.hpp>
#include <kvedit/error.hpp>

#include "registered_memory.hpp"
#include "stage.hpp"

/// Stores the `from` blocks into a file through the page maps, wipes them, and brings the file back
/// into the `to` blocks. Gives the bytes that went into the file.
kvedit::Expected<std::int64_t> move_by_pages(const kvedit::Result& result,
                                             const RegisteredMemory& memory, const Stage& stage,
                                             kvedit::Order order);

/// The same as a connector does that takes entry *b* of each registered tensor for block *b*.
/// Gives the bytes it copied.
std::int64_t move_by_index(const kvedit::Result& result, const RegisteredMemory& memory,
                           const Stage& stage);
