// Files that were cut, or made to harm their reader. Nothing of them may be loaded, and no read may
// leave the file: the sanitizer presets run this too.

#include <elf.h>
#include <kvedit/rule_abi.h>
#include <sys/mman.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <cstring>
#include <fstream>
#include <functional>
#include <random>

#include "pack_tests.hpp"
#include "packs/descriptor.hpp"
#include "packs/elf.hpp"
#include "packs/input_file.hpp"

namespace kvedit::test {
namespace {

std::string contents(const fs::path& file) {
  std::string bytes(fs::file_size(file), '\0');
  std::ifstream(file, std::ios::binary)
      .read(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  return bytes;
}

/// A copy of the good pack that can be changed in place.
class Elf {
 public:
  Elf() : bytes_(contents(fixture("good"))) {}

  Elf64_Ehdr& header() { return at<Elf64_Ehdr>(0); }
  Elf64_Shdr& section(std::size_t index) {
    return at<Elf64_Shdr>(header().e_shoff + index * sizeof(Elf64_Shdr));
  }
  Elf64_Shdr& names() { return section(header().e_shstrndx); }
  Elf64_Shdr& pack() {
    for (std::size_t i = 0; i < header().e_shnum; ++i)
      if (std::strcmp(bytes_.data() + names().sh_offset + section(i).sh_name,
                      KVEDIT_RULE_SECTION) == 0)
        return section(i);
    throw std::logic_error("the good pack has lost its section");
  }
  std::string& bytes() { return bytes_; }

 private:
  template <class T>
  T& at(std::size_t offset) {
    return *reinterpret_cast<T*>(bytes_.data() + offset);
  }

  std::string bytes_;
};

/// Opens bytes as a file, in memory: thousands of them on a disk take minutes.
Expected<InputFile> open_bytes(std::string_view bytes) {
  const int descriptor = memfd_create("bytes", MFD_CLOEXEC);
  REQUIRE(write(descriptor, bytes.data(), bytes.size()) == static_cast<ssize_t>(bytes.size()));
  Expected<InputFile> file = InputFile::open("/proc/self/fd/" + std::to_string(descriptor));
  close(descriptor);
  REQUIRE(file);
  return file;
}

SectionRead read_section(std::string_view bytes) {
  return read_elf_section(*open_bytes(bytes), KVEDIT_RULE_SECTION);
}

constexpr std::uint64_t huge = UINT64_MAX;

}  // namespace

TEST_CASE("a pack cut at any length is refused or skipped, never loaded") {
  const TemporaryDirectory directory;
  const std::string whole = contents(fixture("good"));
  REQUIRE(whole.size() > 4096);
  for (std::size_t size = 0; size < whole.size(); size += 64) {
    CAPTURE(size);
    const std::string name = "cut-" + std::to_string(size) + ".so";
    const fs::path file = directory.add_text(name, std::string_view(whole).substr(0, size));
    const LoadedPacks loaded = load(only_files({file}));
    CHECK(loaded.packs.empty());
    REQUIRE(loaded.infos.size() == 1);
    CHECK(loaded.infos[0].state == PackInfo::State::refused);
    CHECK_THAT(loaded.infos[0].reason,
               Catch::StartsWith(size == 0 ? "not a rule pack: not an ELF file" : "damaged ELF"));
    fs::remove(file);
  }
}

TEST_CASE("numbers that lead out of the file are found out") {
  struct Hostile {
    const char* what;
    std::function<void(Elf&)> change;
    const char* reason;
  };
  const Hostile hostile[] = {
      {"section headers beyond", [](Elf& f) { f.header().e_shoff = huge; }, "section headers, 64"},
      {"section headers at the end", [](Elf& f) { f.header().e_shoff = f.bytes().size(); },
       "section headers, 64"},
      {"size of section headers", [](Elf& f) { f.header().e_shentsize = 0; },
       "section headers of 0 bytes, not 64"},
      {"too many sections", [](Elf& f) { f.header().e_shnum = 0xFEFF; }, "section headers"},
      {"count elsewhere, huge",
       [](Elf& f) {
         f.section(0).sh_size = huge;
         f.header().e_shnum = 0;
       },
       "18446744073709551615 sections"},
      {"names in no section", [](Elf& f) { f.header().e_shstrndx = 0xFEFF; },
       "section names in section 65279"},
      {"names elsewhere",
       [](Elf& f) {
         f.section(0).sh_link = UINT32_MAX;
         f.header().e_shstrndx = SHN_XINDEX;
       },
       "section names in section 4294967295"},
      {"names beyond", [](Elf& f) { f.names().sh_offset = huge; }, "section names"},
      {"names too long", [](Elf& f) { f.names().sh_size = huge; }, "section names"},
      {"names just too long", [](Elf& f) { f.names().sh_size = f.bytes().size(); },
       "section names"},
      {"names of another type", [](Elf& f) { f.names().sh_type = SHT_NOBITS; }, "section names"},
      {"section beyond", [](Elf& f) { f.pack().sh_offset = huge; }, "section .kvedit.pack"},
      {"section and end beyond 64 bits",
       [](Elf& f) { f.pack().sh_offset = huge - f.pack().sh_size + 1; }, "section .kvedit.pack"},
      {"section too long", [](Elf& f) { f.pack().sh_size = huge; }, "1048576 bytes is the most"},
      {"section longer than the file", [](Elf& f) { f.pack().sh_size = f.bytes().size() + 1; },
       "section .kvedit.pack"},
      {"section without bytes", [](Elf& f) { f.pack().sh_type = SHT_NOBITS; }, "no plain bytes"},
      {"section compressed", [](Elf& f) { f.pack().sh_flags |= SHF_COMPRESSED; }, "no plain bytes"},
      {"two sections", [](Elf& f) { f.section(1).sh_name = f.pack().sh_name; },
       "two sections .kvedit.pack"},
  };
  for (const Hostile& each : hostile) {
    CAPTURE(each.what);
    Elf file;
    each.change(file);
    const SectionRead read = read_section(file.bytes());
    CHECK(read.state == SectionRead::State::damaged);
    CHECK_THAT(read.reason, Catch::Contains(each.reason));
    CHECK(read.bytes.empty());
  }
}

TEST_CASE("other kinds of files have no section") {
  Elf small, big, stripped, renamed;
  small.header().e_ident[EI_CLASS] = ELFCLASS32;
  big.header().e_ident[EI_DATA] = ELFDATA2MSB;
  stripped.header().e_shoff = 0;
  renamed.pack().sh_name = UINT32_MAX;
  for (Elf* file : {&small, &big, &stripped, &renamed})
    CHECK(read_section(file->bytes()).state == SectionRead::State::absent);
}

TEST_CASE("the unchanged section is read to the byte") {
  Elf file;
  const SectionRead read = read_section(file.bytes());
  REQUIRE(read.state == SectionRead::State::present);
  REQUIRE(read.bytes.size() == file.pack().sh_size);
  CHECK(std::memcmp(read.bytes.data(), file.bytes().data() + file.pack().sh_offset,
                    read.bytes.size()) == 0);
}

TEST_CASE("any damage to headers and descriptor is survived") {
  std::mt19937_64 random(20260701);
  for (int round = 0; round < 3000; ++round) {
    Elf file;
    const std::size_t descriptor = file.pack().sh_offset;
    const std::size_t headers = file.header().e_shoff;
    const std::size_t starts[] = {0, descriptor, headers};
    const std::size_t sizes[] = {64, 472, file.bytes().size() - headers};
    for (int change = 0; change < 3; ++change) {
      const std::size_t area = random() % 3;
      file.bytes()[starts[area] + random() % sizes[area]] = static_cast<char>(random());
    }
    CAPTURE(round);
    const SectionRead read = read_section(file.bytes());
    if (read.state != SectionRead::State::present) {
      REQUIRE(!read.reason.empty());
      continue;
    }
    const Expected<PackDescriptor> pack = read_descriptor(read.bytes);
    if (pack) {
      REQUIRE(pack->rules.size() <= KVEDIT_MAX_RULES);
      REQUIRE(pack->bytes.size() <= read.bytes.size());
    } else {
      REQUIRE(!pack.error().message.empty());
    }
  }
}

TEST_CASE("a descriptor is checked field by field") {
  struct Change {
    std::size_t offset;
    std::string bytes;
    const char* reason;
  };
  const std::size_t rule = sizeof(kvedit_pack_descriptor);
  const std::string most(4, '\xFF');
  const Change changes[] = {
      {offsetof(kvedit_pack_descriptor, header_size), std::string(4, '\0'), "200 and 272"},
      {offsetof(kvedit_pack_descriptor, header_size), most, "cut short: 4294967567 bytes"},
      {offsetof(kvedit_pack_descriptor, rule_size), std::string("\x0F\x01\0\0", 4), "271 a rule"},
      {offsetof(kvedit_pack_descriptor, rule_size), most, "cut short: 4294967495 bytes"},
      {offsetof(kvedit_pack_descriptor, rule_count), most, "4294967295 rules; 256 is the most"},
      {offsetof(kvedit_pack_descriptor, rule_count), std::string("\x02\0\0\0", 4),
       "cut short: 744"},
      {offsetof(kvedit_pack_descriptor, reserved), "\x01", "reserved is 1"},
      {offsetof(kvedit_pack_descriptor, id), std::string(1, '\0'), "its id is not followed by"},
      {offsetof(kvedit_pack_descriptor, id), "a b.", "other than printable ASCII"},
      {offsetof(kvedit_pack_descriptor, id), std::string(64, '.'), "not terminated within its 64"},
      {offsetof(kvedit_pack_descriptor, version), "\x1B[2J", "its version has control characters"},
      {offsetof(kvedit_pack_descriptor, vendor), "\xED\xA0\x80", "its vendor is not UTF-8"},
      {rule + offsetof(kvedit_rule_descriptor, id), "\xC3\xA9", "other than printable ASCII"},
      {rule + offsetof(kvedit_rule_descriptor, summary), std::string(160, 'x'),
       "summary of rule 0"},
      {rule + offsetof(kvedit_rule_descriptor, tier), "\x04", "the tier of rule 0 is 4"},
      {rule + offsetof(kvedit_rule_descriptor, reserved), "\x01", "reserved is not 0 in rule 0"},
  };
  const std::vector<std::byte> section = read_section(Elf().bytes()).bytes;
  REQUIRE(read_descriptor(section));
  const auto first = std::span(section).first(rule + sizeof(kvedit_rule_descriptor));
  for (const Change& change : changes) {
    CAPTURE(change.reason);
    std::vector<std::byte> changed(first.begin(), first.end());
    std::memcpy(changed.data() + change.offset, change.bytes.data(), change.bytes.size());
    const Expected<PackDescriptor> read = read_descriptor(changed);
    REQUIRE(!read);
    CHECK_THAT(read.error().message, Catch::Contains(change.reason));
  }
  for (std::size_t size = 0; size < first.size(); ++size)
    CHECK(!read_descriptor(first.first(size)));
}

TEST_CASE("SHA-256 of a file") {
  const auto sha256 = [](std::string_view bytes) { return *open_bytes(bytes)->sha256(); };
  // FIPS 180-2, appendix B.1 and B.3.
  CHECK(sha256("abc") == "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  CHECK(sha256(std::string(1000000, 'a')) ==
        "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
}

}  // namespace kvedit::test
