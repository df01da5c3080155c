#include "packs/elf.hpp"

#include <elf.h>

#include <cstring>
#include <optional>
#include <span>

namespace kvedit {
namespace {

constexpr std::uint64_t max_sections = 65536;
constexpr std::uint64_t max_name_bytes = std::uint64_t{1} << 20;

SectionRead absent(std::string reason) {
  return {SectionRead::State::absent, std::move(reason), {}};
}
SectionRead damaged(std::string reason) {
  return {SectionRead::State::damaged, "damaged ELF file: " + std::move(reason), {}};
}

std::string at(std::uint64_t offset, std::uint64_t size) {
  return std::to_string(size) + " bytes at " + std::to_string(offset);
}

/// The section headers and the names they point into.
class SectionTable {
 public:
  /// Gives what is wrong, or nothing.
  std::optional<std::string> read(const InputFile& file, const Elf64_Ehdr& header) {
    if (header.e_shentsize != sizeof(Elf64_Shdr))
      return "section headers of " + std::to_string(header.e_shentsize) + " bytes, not 64";
    Elf64_Shdr first{};
    if (!file.read(header.e_shoff, std::as_writable_bytes(std::span(&first, 1))))
      return beyond("section headers", header.e_shoff, sizeof first, file);
    // Numbers that do not fit the file header stand in the first section header.
    const std::uint64_t count = header.e_shnum == 0 ? first.sh_size : header.e_shnum;
    if (count == 0 || count > max_sections)
      return std::to_string(count) + " sections; 1 to " + std::to_string(max_sections) +
             " are read";
    headers_.resize(count);
    if (!file.read(header.e_shoff, std::as_writable_bytes(std::span(headers_))))
      return beyond("section headers", header.e_shoff, count * sizeof first, file);
    return read_names(file, header.e_shstrndx == SHN_XINDEX ? first.sh_link : header.e_shstrndx);
  }

  std::span<const Elf64_Shdr> headers() const { return headers_; }

  bool named(const Elf64_Shdr& section, std::string_view name) const {
    if (section.sh_name >= names_.size()) return false;
    const std::string_view rest = std::string_view(names_).substr(section.sh_name);
    return rest.size() > name.size() && rest.starts_with(name) && rest[name.size()] == '\0';
  }

  static std::string beyond(const char* what, std::uint64_t offset, std::uint64_t size,
                            const InputFile& file) {
    return std::string(what) + ", " + at(offset, size) + ", lie beyond the file's " +
           std::to_string(file.size());
  }

 private:
  std::optional<std::string> read_names(const InputFile& file, std::uint32_t index) {
    if (index >= headers_.size())
      return "section names in section " + std::to_string(index) + " of " +
             std::to_string(headers_.size());
    const Elf64_Shdr& names = headers_[index];
    if (names.sh_type != SHT_STRTAB || names.sh_size > max_name_bytes)
      return "section names of type " + std::to_string(names.sh_type) + ", " +
             at(names.sh_offset, names.sh_size);
    names_.resize(names.sh_size);
    if (!file.read(names.sh_offset, std::as_writable_bytes(std::span(names_))))
      return beyond("section names", names.sh_offset, names.sh_size, file);
    return std::nullopt;
  }

  std::vector<Elf64_Shdr> headers_;
  std::string names_;
};

SectionRead read_bytes(const InputFile& file, const Elf64_Shdr& section, std::string_view name) {
  const std::string called = "section " + std::string(name);
  if (section.sh_type == SHT_NOBITS || (section.sh_flags & SHF_COMPRESSED) != 0)
    return damaged(called + " has no plain bytes");
  if (section.sh_size > max_section_bytes)
    return damaged(called + " of " + at(section.sh_offset, section.sh_size) + "; " +
                   std::to_string(max_section_bytes) + " bytes is the most");
  SectionRead read{SectionRead::State::present, {}, std::vector<std::byte>(section.sh_size)};
  if (!file.read(section.sh_offset, read.bytes))
    return damaged(SectionTable::beyond(called.c_str(), section.sh_offset, section.sh_size, file));
  return read;
}

}  // namespace

SectionRead read_elf_section(const InputFile& file, std::string_view name) {
  Elf64_Ehdr header{};
  const std::span bytes = std::as_writable_bytes(std::span(&header, 1));
  if (!file.read(0, bytes.first(SELFMAG)) || std::memcmp(header.e_ident, ELFMAG, SELFMAG) != 0)
    return absent("not an ELF file");
  if (!file.read(0, bytes)) return damaged("ends within its header");
  if (header.e_ident[EI_CLASS] != ELFCLASS64 || header.e_ident[EI_DATA] != ELFDATA2LSB)
    return absent("not a 64-bit little-endian ELF file");
  const std::string without = "no section " + std::string(name);
  if (header.e_shoff == 0) return absent(without);

  SectionTable table;
  if (std::optional<std::string> wrong = table.read(file, header)) return damaged(*wrong);
  const Elf64_Shdr* found = nullptr;
  for (const Elf64_Shdr& section : table.headers()) {
    if (!table.named(section, name)) continue;
    if (found != nullptr) return damaged("two sections " + std::string(name));
    found = &section;
  }
  return found == nullptr ? absent(without) : read_bytes(file, *found, name);
}

}  // namespace kvedit
