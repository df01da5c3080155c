/// The SDK of kvedit rule packs. Header-only, C++17, nothing but the standard library.
///
///   struct OneRow {
///     static constexpr const char* id = "example.one-row";
///     static constexpr const char* summary = "one row of state bytes for each block";
///     kvedit::rule::Answer answer(const kvedit::rule::Layer& layer) const {
///       if (!layer.is(Kind::mamba)) return no_match("kind is {}, not mamba", layer.kind());
///       return match(layer.tensor(0).state_row());
///     }
///   };
///   KVEDIT_RULE_PACK("example.rows", "1.0.0", "Example Ltd.", OneRow)
///
/// A rule is a class with a name, `summary`, `priority` (default 100), `tier` (default vendor) and
/// one const function. It is made anew for every question and keeps nothing: the same layer must
/// get the same answer, from any thread. What it throws becomes an error of the rule.
#pragma once

#include <kvedit/rule/answer.hpp>
#include <kvedit/rule/group.hpp>
#include <kvedit/rule/layer.hpp>
#include <kvedit/rule/pack.hpp>

#if defined(__clang__)
#define KVEDIT_RULE_IN_SECTION \
  __attribute__((section(KVEDIT_RULE_SECTION), used, no_sanitize("address")))
#else
#define KVEDIT_RULE_IN_SECTION __attribute__((section(KVEDIT_RULE_SECTION), used))
#endif

/// Makes this file the pack `pack_id` (texts) with the rules named after the vendor. Once in a
/// pack.
#define KVEDIT_RULE_PACK(pack_id, version, vendor, ...)                                  \
  KVEDIT_RULE_PACK_WITH_VALIDATOR(pack_id, version, vendor, ::kvedit::rule::NoValidator, \
                                  __VA_ARGS__)

/// The same with a class that judges groups before their layers are matched:
///   Answer validate(const Group& group) const;  // accept() or refuse(…)
/// Rules may follow it.
#define KVEDIT_RULE_PACK_WITH_VALIDATOR(pack_id, version, vendor, ...)                         \
  namespace {                                                                                  \
  namespace kvedit_this_pack {                                                                 \
  using Pack = ::kvedit::rule::Pack<__VA_ARGS__>;                                              \
  KVEDIT_RULE_IN_SECTION constexpr auto image = Pack::image(pack_id, version, vendor);         \
  constexpr kvedit_validate_v1 validators = {sizeof(kvedit_validate_v1), &Pack::validate};     \
  const void* extension(const char* id) noexcept { return Pack::extension(id, validators); }   \
  constexpr kvedit_rule_pack table = {sizeof(kvedit_rule_pack), &image.pack, &Pack::answer,    \
                                      &extension};                                             \
  }                                                                                            \
  }                                                                                            \
  extern "C" __attribute__((visibility("default"))) const kvedit_rule_pack* KVEDIT_RULE_ENTRY( \
      const kvedit_rule_host* host);                                                           \
  extern "C" const kvedit_rule_pack* KVEDIT_RULE_ENTRY(const kvedit_rule_host* host) {         \
    return ::kvedit::rule::detail::shake_hands(host, kvedit_this_pack::table);                 \
  }
