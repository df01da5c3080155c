#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include <kvedit/error.hpp>

namespace kvedit {

struct DescribedRule {
  std::string id, summary;
  std::uint32_t tier = 0;  // KVEDIT_TIER_…
  std::int32_t priority = 0;
};

/// What a pack says of itself, checked and copied.
struct PackDescriptor {
  std::string id, version, vendor;
  std::vector<DescribedRule> rules;  // in the order of the pack
  std::vector<std::byte> bytes;      // as they stand in the file: header and rules
};

/// Reads the contents of section `.kvedit.pack`. The error says what is wrong with which numbers.
Expected<PackDescriptor> read_descriptor(std::span<const std::byte> section);

}  // namespace kvedit
