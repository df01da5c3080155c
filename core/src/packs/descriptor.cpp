#include "packs/descriptor.hpp"

#include <kvedit/rule_abi.h>

#include <algorithm>
#include <cstring>
#include <optional>
#include <string_view>

#include "base/utf8.hpp"

namespace kvedit {
namespace {

using Reason = std::optional<std::string>;

std::string number(std::uint64_t value) { return std::to_string(value); }

bool all_zero(std::string_view bytes) { return bytes.find_first_not_of('\0') == bytes.npos; }

/// A zero-terminated text in a fixed field, the rest zero; without control characters, since it is
/// shown on terminals.
Reason read_field(std::string_view field, const std::string& name, std::string& out) {
  const std::size_t end = field.find('\0');
  if (end == field.npos)
    return name + " is not terminated within its " + number(field.size()) + " bytes";
  if (!all_zero(field.substr(end))) return name + " is not followed by zeros";
  const std::string_view text = field.substr(0, end);
  if (!valid_utf8(text)) return name + " is not UTF-8";
  const auto control = [](unsigned char c) { return c < 0x20 || c == 0x7F; };
  if (std::any_of(text.begin(), text.end(), control)) return name + " has control characters";
  out = text;
  return std::nullopt;
}

Reason read_id(std::string_view field, const std::string& name, std::string& out) {
  if (Reason wrong = read_field(field, name, out)) return wrong;
  const auto printable = [](unsigned char c) { return c > 0x20 && c < 0x7F; };
  if (!std::all_of(out.begin(), out.end(), printable))
    return name + " has characters other than printable ASCII";
  const std::size_t dot = out.find('.');
  if (dot == out.npos || dot == 0 || dot + 1 == out.size())
    return name + " is \"" + out + "\", not a vendor's name, a dot and a name";
  return std::nullopt;
}

template <std::size_t N>
std::string_view field(const char (&chars)[N]) {
  return {chars, N};
}

Reason check_header(const kvedit_pack_descriptor& header, std::size_t section_bytes) {
  if (std::memcmp(header.magic, KVEDIT_RULE_MAGIC, sizeof header.magic) != 0)
    return "its descriptor does not start with " KVEDIT_RULE_MAGIC;
  if (header.abi_major != KVEDIT_RULE_ABI_MAJOR)
    return "it was built for rule ABI " + number(header.abi_major) + ", this kvedit has " +
           number(KVEDIT_RULE_ABI_MAJOR) + "; build it for that one";
  if (header.header_size < sizeof(kvedit_pack_descriptor) ||
      header.rule_size < sizeof(kvedit_rule_descriptor))
    return "its descriptor has " + number(header.header_size) + " bytes and " +
           number(header.rule_size) + " a rule; " + number(sizeof(kvedit_pack_descriptor)) +
           " and " + number(sizeof(kvedit_rule_descriptor)) + " are the least";
  if (header.rule_count > KVEDIT_MAX_RULES)
    return "it has " + number(header.rule_count) + " rules; " + number(KVEDIT_MAX_RULES) +
           " is the most";
  const std::uint64_t needed =
      header.header_size + std::uint64_t{header.rule_count} * header.rule_size;
  if (needed > section_bytes)
    return "its descriptor is cut short: " + number(needed) + " bytes of which the section has " +
           number(section_bytes);
  // A newer minor may have given them a meaning that an older host need not know.
  if (header.abi_minor <= KVEDIT_RULE_ABI_MINOR && header.reserved != 0)
    return "reserved is " + number(header.reserved) + " in its descriptor, not 0";
  return std::nullopt;
}

Reason read_rule(const kvedit_rule_descriptor& rule, const std::string& name, bool reserved_known,
                 DescribedRule& out) {
  if (Reason wrong = read_id(field(rule.id), "the id of " + name, out.id)) return wrong;
  if (Reason wrong = read_field(field(rule.summary), "the summary of " + name, out.summary))
    return wrong;
  if (rule.tier < KVEDIT_TIER_VENDOR || rule.tier > KVEDIT_TIER_FALLBACK)
    return "the tier of " + name + " is " + number(rule.tier) + "; 1 to 3 are known";
  if (reserved_known && (rule.reserved[0] != 0 || rule.reserved[1] != 0))
    return "reserved is not 0 in " + name;
  out.tier = rule.tier;
  out.priority = rule.priority;
  return std::nullopt;
}

Reason read_rules(const kvedit_pack_descriptor& header, PackDescriptor& out) {
  for (std::uint32_t i = 0; i < header.rule_count; ++i) {
    kvedit_rule_descriptor rule;
    std::memcpy(&rule, out.bytes.data() + header.header_size + std::size_t{i} * header.rule_size,
                sizeof rule);
    DescribedRule& described = out.rules.emplace_back();
    const bool reserved_known = header.abi_minor <= KVEDIT_RULE_ABI_MINOR;
    if (Reason wrong = read_rule(rule, "rule " + number(i), reserved_known, described))
      return wrong;
    const auto same = [&](const DescribedRule& other) { return other.id == described.id; };
    if (std::find_if(out.rules.begin(), out.rules.end(), same) != out.rules.end() - 1)
      return "it has two rules " + described.id;
  }
  return std::nullopt;
}

}  // namespace

Expected<PackDescriptor> read_descriptor(std::span<const std::byte> section) {
  kvedit_pack_descriptor header;
  if (section.size() < sizeof header)
    return Error{"", "its descriptor is cut short: " + number(section.size()) + " bytes, " +
                         number(sizeof header) + " are the least"};
  std::memcpy(&header, section.data(), sizeof header);
  if (Reason wrong = check_header(header, section.size())) return Error{"", *wrong};

  PackDescriptor pack;
  const std::size_t used = header.header_size + std::size_t{header.rule_count} * header.rule_size;
  pack.bytes.assign(section.begin(), section.begin() + static_cast<std::ptrdiff_t>(used));
  Reason wrong = read_id(field(header.id), "its id", pack.id);
  if (!wrong) wrong = read_field(field(header.version), "its version", pack.version);
  if (!wrong) wrong = read_field(field(header.vendor), "its vendor", pack.vendor);
  if (!wrong) wrong = read_rules(header, pack);
  if (wrong) return Error{"", *wrong};
  return pack;
}

}  // namespace kvedit
