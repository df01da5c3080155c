// A pack opened as a host opens it, without the host.
#pragma once

#include <dlfcn.h>

#include <catch2/catch.hpp>
#include <string>

#include "hand_made.hpp"

namespace sdk_test {

inline kvedit_rule_host plain_host() {
  kvedit_rule_host host{};
  host.struct_size = sizeof host;
  host.abi_major = KVEDIT_RULE_ABI_MAJOR;
  host.abi_minor = KVEDIT_RULE_ABI_MINOR;
  return host;
}

/// Never closed, as the host never closes packs.
class OpenedPack {
 public:
  explicit OpenedPack(const std::string& path) {
    void* const module = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (module == nullptr) FAIL(dlerror());
    entry_ = reinterpret_cast<kvedit_rule_entry>(dlsym(module, KVEDIT_RULE_ENTRY_NAME));
    REQUIRE(entry_ != nullptr);
    const kvedit_rule_host host = plain_host();
    table_ = entry_(&host);
    REQUIRE(table_ != nullptr);
  }

  kvedit_rule_entry entry() const { return entry_; }
  const kvedit_rule_pack& table() const { return *table_; }
  const kvedit_pack_descriptor& descriptor() const { return *table_->descriptor; }
  const kvedit_rule_descriptor& rule(std::size_t index) const {
    return reinterpret_cast<const kvedit_rule_descriptor*>(
        reinterpret_cast<const char*>(table_->descriptor) + descriptor().header_size)[index];
  }
  std::int32_t ask(std::uint32_t rule, const HandMade& layer, Memory& memory) const {
    return table_->answer(rule, layer.get(), memory.answer());
  }

 private:
  kvedit_rule_entry entry_ = nullptr;
  const kvedit_rule_pack* table_ = nullptr;
};

}  // namespace sdk_test
