/// The closed vocabularies of the boundary, as types.
#pragma once

#include <kvedit/rule_abi.h>

#include <cstdint>
#include <string_view>

#pragma GCC visibility push(hidden)
namespace kvedit::rule {

/// What a layer keeps. A newer host may know kinds that are not among these.
enum class Kind : std::uint32_t {
  unknown = KVEDIT_KIND_UNKNOWN,
  full_attention = KVEDIT_KIND_FULL_ATTENTION,
  mla_attention = KVEDIT_KIND_MLA_ATTENTION,
  sliding_window = KVEDIT_KIND_SLIDING_WINDOW,
  sliding_window_mla = KVEDIT_KIND_SLIDING_WINDOW_MLA,
  mamba = KVEDIT_KIND_MAMBA,  ///< every recurrent kind
  chunked_local_attention = KVEDIT_KIND_CHUNKED_LOCAL_ATTENTION,
  sink_full_attention = KVEDIT_KIND_SINK_FULL_ATTENTION,
  encoder_only_attention = KVEDIT_KIND_ENCODER_ONLY_ATTENTION,
  cross_attention = KVEDIT_KIND_CROSS_ATTENTION,
};

/// What an axis carries.
enum class Role : std::uint32_t {
  block = KVEDIT_ROLE_BLOCK,
  kernel_page = KVEDIT_ROLE_KERNEL_PAGE,
  kv = KVEDIT_ROLE_KV,
  head = KVEDIT_ROLE_HEAD,
  token = KVEDIT_ROLE_TOKEN,
  content = KVEDIT_ROLE_CONTENT,
};

/// `prefix`: stored blocks are found again by token prefix; `transfer`: a running request moves.
enum class Purpose : std::uint32_t {
  prefix = KVEDIT_PURPOSE_PREFIX,
  transfer = KVEDIT_PURPOSE_TRANSFER,
};

enum class Verdict : std::uint32_t {
  no_match = KVEDIT_ANSWER_NO_MATCH,
  match = KVEDIT_ANSWER_MATCH,
  refuse = KVEDIT_ANSWER_REFUSE,
  error = KVEDIT_ANSWER_ERROR,
};

/// In which rank a rule is asked. A pack asks for `vendor` or `fallback`; `standard` is for the
/// rules that come with kvedit.
enum class Tier : std::uint32_t {
  vendor = KVEDIT_TIER_VENDOR,
  standard = KVEDIT_TIER_STANDARD,
  fallback = KVEDIT_TIER_FALLBACK,
};

constexpr std::string_view to_text(Kind kind) {
  switch (kind) {
    case Kind::unknown:
      return "unknown";
    case Kind::full_attention:
      return "full_attention";
    case Kind::mla_attention:
      return "mla_attention";
    case Kind::sliding_window:
      return "sliding_window";
    case Kind::sliding_window_mla:
      return "sliding_window_mla";
    case Kind::mamba:
      return "mamba";
    case Kind::chunked_local_attention:
      return "chunked_local_attention";
    case Kind::sink_full_attention:
      return "sink_full_attention";
    case Kind::encoder_only_attention:
      return "encoder_only_attention";
    case Kind::cross_attention:
      return "cross_attention";
  }
  return "of a newer host";
}

constexpr std::string_view to_text(Role role) {
  switch (role) {
    case Role::block:
      return "block";
    case Role::kernel_page:
      return "kernel_page";
    case Role::kv:
      return "kv";
    case Role::head:
      return "head";
    case Role::token:
      return "token";
    case Role::content:
      return "content";
  }
  return "no role";
}

}  // namespace kvedit::rule
#pragma GCC visibility pop
