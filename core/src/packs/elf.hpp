#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "packs/input_file.hpp"

namespace kvedit {

/// A section of a file that may be anything, also made to harm its reader.
struct SectionRead {
  enum class State {
    absent,   // no file of our kind, or one without the section
    damaged,  // says it is one, and contradicts itself
    present,
  };

  State state = State::absent;
  std::string reason;  // of absent and damaged
  std::vector<std::byte> bytes;
};

constexpr std::uint64_t max_section_bytes = std::uint64_t{1} << 20;

/// Reads the section `name` of a 64-bit little-endian ELF file; nothing of the file is run. Reads
/// the file header, the section headers, their names and that section, each within the file.
SectionRead read_elf_section(const InputFile& file, std::string_view name);

}  // namespace kvedit
