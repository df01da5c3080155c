#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <kvedit/dtype.hpp>
#include <kvedit/error.hpp>
#include <kvedit/export.hpp>
#include <kvedit/value.hpp>

namespace kvedit {

/// What a layer keeps for its tokens. `mamba` stands for every recurrent kind.
enum class Kind : std::uint32_t {
  unknown,
  full_attention,
  mla_attention,
  sliding_window,
  sliding_window_mla,
  mamba,
  chunked_local_attention,
  sink_full_attention,
  encoder_only_attention,
  cross_attention,
};

KVEDIT_API std::string_view to_text(Kind kind);
KVEDIT_API std::optional<Kind> find_kind(std::string_view name);

/// A rational with positive denominator: tokens stored in one state. `{1, 4}` is four states for each token.
struct Ratio {
  std::int64_t numerator = 1;
  std::int64_t denominator = 1;

  bool operator==(const Ratio&) const = default;
};

/// The spec of one layer (a leaf) or of a whole group. The named members are those the host reads
/// itself; `attributes` holds every field as given, also the named ones, for rules.
/// Make one with `make_spec`, so that both agree.
struct Spec {
  std::string type;                ///< class name
  std::vector<std::string> bases;  ///< class names, most derived first
  Kind kind = Kind::unknown;
  std::int64_t block_size = 0;       ///< tokens
  std::int64_t page_size_bytes = 0;  ///< padding included

  std::optional<std::int64_t> page_size_padded;          ///< bytes
  std::optional<std::int64_t> unpadded_page_size_bytes;  ///< bytes
  std::optional<std::int64_t> heads;       ///< `num_head_slots`, else `num_heads`, else `num_kv_heads`
  std::optional<std::int64_t> head_size;   ///< elements
  std::optional<std::int64_t> head_size_v; ///< elements
  std::optional<std::int64_t> num_states;
  /// `tokens_per_state`, else `compress_ratio`; not positive: one state for the whole page.
  std::optional<Ratio> tokens_per_state;
  /// Recurrent: from `shapes` and `dtypes`; negative when they contradict each other.
  std::optional<std::int64_t> state_bytes;
  std::string mamba_cache_mode = "none";
  bool prefix_cacheable = true;
  bool has_layer_views = true;
  std::optional<bool> dcp_sharded;

  Attributes attributes;

  bool recurrent() const { return kind == Kind::mamba; }
  const Value* attribute(std::string_view name) const;

  bool operator==(const Spec&) const = default;
};

inline const Value* Spec::attribute(std::string_view name) const {
  for (const Attribute& each : attributes)
    if (each.name == name) return &each.value;
  return nullptr;
}

/// Builds a spec from the engine's fields (names and meaning: `docs/formats.md`, "Spec fields").
/// `type` and `bases` may be among the attributes or be given here, not both.
/// Errors name the field: a missing required one, one of the wrong type, an unknown kind or dtype.
KVEDIT_API Expected<Spec> make_spec(std::string type, std::vector<std::string> bases,
                                    std::vector<Attribute> attributes);

}  // namespace kvedit
