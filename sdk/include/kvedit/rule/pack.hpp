/// A pack: its static descriptor, its entry, its functions; all made from the classes of its rules.
#pragma once

#include <cstddef>
#include <cstdint>
#include <kvedit/rule/group.hpp>
#include <kvedit/rule/reply.hpp>
#include <string_view>
#include <type_traits>

#pragma GCC visibility push(hidden)
namespace kvedit::rule {

/// Stands for the validator of a pack that has none.
struct NoValidator {};

namespace detail {

template <class Rule, class = void>
struct SummaryOf {
  static constexpr const char* value = "";
};
template <class Rule>
struct SummaryOf<Rule, std::void_t<decltype(Rule::summary)>> {
  static constexpr const char* value = Rule::summary;
};
template <class Rule, class = void>
struct PriorityOf {
  static constexpr std::int32_t value = 100;
};
template <class Rule>
struct PriorityOf<Rule, std::void_t<decltype(Rule::priority)>> {
  static constexpr std::int32_t value = Rule::priority;
};
template <class Rule, class = void>
struct TierOf {
  static constexpr Tier value = Tier::vendor;
};
template <class Rule>
struct TierOf<Rule, std::void_t<decltype(Rule::tier)>> {
  static constexpr Tier value = Rule::tier;
};

template <std::size_t N>
constexpr void put(char (&field)[N], std::string_view text) {
  for (std::size_t i = 0; i < text.size(); ++i) field[i] = text[i];
}

/// A vendor's name, a dot and a name, all printable ASCII.
constexpr bool is_id(std::string_view id) {
  for (const char c : id)
    if (c <= 0x20 || c >= 0x7F) return false;
  const std::size_t dot = id.find('.');
  return dot != std::string_view::npos && dot != 0 && dot + 1 != id.size();
}

template <class Rule>
constexpr kvedit_rule_descriptor describe() {
  constexpr std::string_view id = Rule::id, summary = SummaryOf<Rule>::value;
  static_assert(id.size() < sizeof(kvedit_rule_descriptor::id), "the rule's id is too long");
  static_assert(is_id(id), "a rule's id is a vendor's name, a dot and a name");
  static_assert(summary.size() < sizeof(kvedit_rule_descriptor::summary),
                "the rule's summary is too long");
  kvedit_rule_descriptor out = {};
  put(out.id, id);
  put(out.summary, summary);
  out.tier = static_cast<std::uint32_t>(TierOf<Rule>::value);
  out.priority = PriorityOf<Rule>::value;
  return out;
}

template <class... Rules>
constexpr bool ids_differ() {
  constexpr std::string_view ids[] = {Rules::id..., ""};
  for (std::size_t i = 0; i < sizeof...(Rules); ++i)
    for (std::size_t j = 0; j < i; ++j)
      if (ids[i] == ids[j]) return false;
  return true;
}

/// What stands in the pack's section. A pack of validators alone has one unused, zero descriptor.
template <std::size_t Rules>
struct Image {
  kvedit_pack_descriptor pack;
  kvedit_rule_descriptor rules[Rules == 0 ? 1 : Rules];
};

inline const kvedit_rule_pack* shake_hands(const kvedit_rule_host* given,
                                           const kvedit_rule_pack& pack) noexcept {
  if (given == nullptr) return nullptr;
  kvedit_rule_host host = {};
  take(host, given);
  if (host.abi_major == KVEDIT_RULE_ABI_MAJOR) return &pack;
  const Reason why =
      reason("the pack speaks rule ABI {}, the host {}", KVEDIT_RULE_ABI_MAJOR, host.abi_major);
  if (host.refuse != nullptr) host.refuse(given, {why.view().data(), why.view().size()});
  return nullptr;
}

}  // namespace detail

template <class Validator, class... Rules>
struct Pack {
  static_assert(sizeof...(Rules) <= KVEDIT_MAX_RULES, "a pack has too many rules");
  static_assert(detail::ids_differ<Rules...>(), "two rules of the pack have the same id");

  template <std::size_t Id, std::size_t Version, std::size_t Vendor>
  static constexpr detail::Image<sizeof...(Rules)> image(const char (&id)[Id],
                                                         const char (&version)[Version],
                                                         const char (&vendor)[Vendor]) {
    static_assert(Id <= sizeof(kvedit_pack_descriptor::id), "the pack's id is too long");
    static_assert(Version <= sizeof(kvedit_pack_descriptor::version), "the version is too long");
    static_assert(Vendor <= sizeof(kvedit_pack_descriptor::vendor), "the vendor is too long");
    if (!detail::is_id(id)) throw "a pack's id is a vendor's name, a dot and a name";
    detail::Image<sizeof...(Rules)> out = {{}, {detail::describe<Rules>()...}};
    detail::put(out.pack.magic, KVEDIT_RULE_MAGIC);
    out.pack.header_size = sizeof(kvedit_pack_descriptor);
    out.pack.rule_size = sizeof(kvedit_rule_descriptor);
    out.pack.rule_count = sizeof...(Rules);
    out.pack.abi_major = KVEDIT_RULE_ABI_MAJOR;
    out.pack.abi_minor = KVEDIT_RULE_ABI_MINOR;
    detail::put(out.pack.id, id);
    detail::put(out.pack.version, version);
    detail::put(out.pack.vendor, vendor);
    return out;
  }

  static std::int32_t answer(std::uint32_t rule, const kvedit_layer* given,
                             kvedit_answer* out) noexcept {
    return detail::answer_with(out, [=]() -> Answer {
      if (given == nullptr) return Answer(Verdict::error).fail("no layer was given");
      constexpr Answer (*ask[])(const Layer&) = {&ask_rule<Rules>..., nullptr};
      if (rule >= sizeof...(Rules)) return Answer(Verdict::error).fail("the pack has no such rule");
      return ask[rule](Layer(given));
    });
  }

  static std::int32_t validate(const kvedit_group* given, kvedit_answer* out) noexcept {
    return detail::answer_with(out, [=]() -> Answer {
      if (given == nullptr) return Answer(Verdict::error).fail("no group was given");
      if constexpr (!std::is_same_v<Validator, NoValidator>)
        return Validator().validate(Group(given));
      return accept();
    });
  }

  static const void* extension(const char* id, const kvedit_validate_v1& validators) noexcept {
    if (std::is_same_v<Validator, NoValidator> || id == nullptr) return nullptr;
    return std::string_view(id) == KVEDIT_VALIDATE_ID ? &validators : nullptr;
  }

 private:
  template <class Rule>
  static Answer ask_rule(const Layer& layer) {
    return Rule().answer(layer);
  }
};

}  // namespace kvedit::rule
#pragma GCC visibility pop
