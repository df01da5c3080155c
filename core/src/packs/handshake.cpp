#include "packs/handshake.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <string>

#include <dlfcn.h>
#include <link.h>
#include <kvedit/version.hpp>

#include "base/utf8.hpp"

namespace kvedit {
namespace {

/// The memory a loaded file takes.
class Module {
 public:
  explicit Module(void* handle) { known_ = dlinfo(handle, RTLD_DI_LINKMAP, &map_) == 0; }

  /// Whether the bytes lie in one readable segment of the file.
  bool holds(const void* begin, std::size_t size) const {
    Question question{map_, reinterpret_cast<std::uintptr_t>(begin), size, false};
    if (known_) dl_iterate_phdr(look, &question);
    return question.found;
  }

 private:
  struct Question {
    const link_map* map;
    std::uintptr_t begin;
    std::size_t size;
    bool found;
  };

  static int look(dl_phdr_info* module, std::size_t, void* data) {
    Question& question = *static_cast<Question*>(data);
    if (module->dlpi_addr != question.map->l_addr ||
        std::strcmp(module->dlpi_name, question.map->l_name) != 0)
      return 0;
    for (std::size_t i = 0; i < module->dlpi_phnum; ++i) {
      const ElfW(Phdr)& segment = module->dlpi_phdr[i];
      const std::uintptr_t start = module->dlpi_addr + segment.p_vaddr;
      if (segment.p_type == PT_LOAD && (segment.p_flags & PF_R) != 0 && question.begin >= start &&
          question.begin - start <= segment.p_memsz &&
          question.size <= segment.p_memsz - (question.begin - start))
        question.found = true;
    }
    return 1;
  }

  link_map* map_ = nullptr;
  bool known_ = false;
};

/// What the pack's `refuse` call ends in.
struct HostSide : kvedit_rule_host {
  mutable std::optional<std::string> refusal;
};

std::string copy_refusal(kvedit_text reason) {
  if (reason.data == nullptr || reason.size == 0) return "without a text";
  const std::string_view text(reason.data, std::min<std::uint64_t>(reason.size, KVEDIT_MAX_TEXT));
  if (!valid_utf8(text) || text.size() < reason.size)
    return "with " + std::to_string(reason.size) + " bytes that are no text of at most " +
           std::to_string(KVEDIT_MAX_TEXT) + " bytes of UTF-8";
  return "saying: " + std::string(text);
}

void take_refusal(const kvedit_rule_host* host, kvedit_text reason) noexcept {
  static_cast<const HostSide*>(host)->refusal = copy_refusal(reason);
}

HostSide host_side() {
  HostSide host{};
  host.struct_size = sizeof(kvedit_rule_host);
  host.abi_major = KVEDIT_RULE_ABI_MAJOR;
  host.abi_minor = KVEDIT_RULE_ABI_MINOR;
  host.version = {KVEDIT_VERSION, sizeof KVEDIT_VERSION - 1};
  host.refuse = take_refusal;
  return host;
}

template <class T>
bool aligned(const T* pointer) {
  return reinterpret_cast<std::uintptr_t>(pointer) % alignof(T) == 0;
}

/// Why the table cannot be used, or nothing.
std::optional<std::string> check_table(const kvedit_rule_pack* table, const Module& module,
                                       const PackDescriptor& descriptor) {
  constexpr std::size_t least = offsetof(kvedit_rule_pack, extension);
  if (!aligned(table)) return "its table lies at an address that a table cannot have";
  if (table->struct_size < least)
    return "its table has " + std::to_string(table->struct_size) + " bytes; " +
           std::to_string(least) + " are the least";
  if (table->answer == nullptr) return "its table has no function answer";
  const std::vector<std::byte>& expected = descriptor.bytes;
  if (!module.holds(table->descriptor, expected.size()))
    return "its table does not point to a descriptor of " + std::to_string(expected.size()) +
           " bytes in its own file";
  if (std::memcmp(table->descriptor, expected.data(), expected.size()) != 0)
    return "its descriptor in memory differs from the one in its file";
  return std::nullopt;
}

Expected<const kvedit_validate_v1*> find_validator(const kvedit_rule_pack& table) {
  if (table.struct_size < sizeof(kvedit_rule_pack) || table.extension == nullptr) return nullptr;
  const auto* found = static_cast<const kvedit_validate_v1*>(table.extension(KVEDIT_VALIDATE_ID));
  if (found == nullptr) return found;
  if (!aligned(found) || found->struct_size < sizeof(kvedit_validate_v1) ||
      found->validate == nullptr)
    return Error{"", "its table of " KVEDIT_VALIDATE_ID " has no function validate"};
  return found;
}

}  // namespace

Expected<PackTables> shake_hands(const boost::dll::shared_library& library,
                                 const PackDescriptor& descriptor) {
  using Entry = const kvedit_rule_pack*(const kvedit_rule_host*);
  const Error no_entry{"", "it does not export " KVEDIT_RULE_ENTRY_NAME};
  if (!library.has(KVEDIT_RULE_ENTRY_NAME)) return no_entry;
  Entry* const entry = &library.get<Entry>(KVEDIT_RULE_ENTRY_NAME);
  const Module module(library.native());
  // The loader also looks into the libraries that the pack needs.
  if (!module.holds(reinterpret_cast<const void*>(entry), 1)) return no_entry;

  const HostSide host = host_side();
  const kvedit_rule_pack* const table = entry(&host);
  if (host.refusal) return Error{"", "it refused this kvedit, " + *host.refusal};
  if (table == nullptr) return Error{"", "it refused this kvedit without a text"};
  if (std::optional<std::string> wrong = check_table(table, module, descriptor))
    return Error{"", *wrong};
  Expected<const kvedit_validate_v1*> validator = find_validator(*table);
  if (!validator) return validator.error();
  return PackTables{table, *validator};
}

}  // namespace kvedit
