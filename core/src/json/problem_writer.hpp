#pragma once

#include <cstdint>
#include <string_view>

#include <kvedit/problem.hpp>

#include "json/text_writer.hpp"

namespace kvedit {

/// `docs/formats.md`, "Problems": the same object in every format that has problems.
void write(TextWriter& out, const Problem& problem);

/// The index of a group, or null for the -1 of no group.
void write_group(TextWriter& out, std::string_view name, std::int32_t group);

}  // namespace kvedit
