/// The spec of a layer: every field the engine gave, by type and default.
#pragma once

#include <cstddef>
#include <cstdint>
#include <kvedit/rule/numbers.hpp>
#include <kvedit/rule/text.hpp>
#include <kvedit/rule/value.hpp>
#include <optional>
#include <string_view>

#pragma GCC visibility push(hidden)
namespace kvedit::rule {

/// A field that the rule needs and the spec does not have: the rule does not match.
class MissingField : public Fault {
 public:
  using Fault::Fault;
};

/// A field that is not there, null or of another type reads as `otherwise`; `required_…` ends the
/// answer with "no match" and that reason.
class Spec {
 public:
  /// @param limit bytes from this layer to the next where it stands in an array
  explicit Spec(const kvedit_layer* layer, std::uint64_t limit = sizeof(kvedit_layer)) noexcept {
    facts_.unpadded_page_bytes = KVEDIT_ABSENT;
    facts_.state_bytes = KVEDIT_ABSENT;
    facts_.slots = 1;
    facts_.placed_block_stride = KVEDIT_ABSENT;
    detail::take(facts_, layer, limit);
  }

  std::string_view type() const noexcept { return detail::view(facts_.type); }
  std::size_t bases() const noexcept {
    return facts_.bases == nullptr ? 0 : static_cast<std::size_t>(facts_.base_count);
  }
  std::string_view base(std::size_t index) const noexcept {
    return index < bases() ? detail::view(facts_.bases[index]) : std::string_view();
  }
  /// The class itself or one of its bases.
  bool is_a(std::string_view class_name) const noexcept;
  Kind kind() const noexcept { return static_cast<Kind>(facts_.kind); }
  template <class... Kinds>
  bool is(Kinds... kinds) const noexcept {
    return ((kind() == kinds) || ...);
  }

  Value attribute(std::string_view name) const noexcept;
  bool has(std::string_view name) const noexcept { return !attribute(name).is_null(); }
  std::int64_t integer(std::string_view name, std::int64_t otherwise = 0) const noexcept {
    return attribute(name).as_int(otherwise);
  }
  std::string_view text(std::string_view name, std::string_view otherwise = {}) const noexcept {
    return attribute(name).as_text(otherwise);
  }
  std::int64_t required_int(std::string_view name) const;
  std::string_view required_text(std::string_view name) const;

  // ---- the page -------------------------------------------------------------------------------
  std::int64_t block_size() const noexcept { return facts_.block_size; }  ///< tokens
  std::int64_t page_bytes() const noexcept { return facts_.page_bytes; }  ///< padding included
  std::optional<std::int64_t> unpadded_page_bytes() const noexcept {
    return known(facts_.unpadded_page_bytes);
  }
  /// The page without its padding where the spec tells it.
  std::int64_t dense_page_bytes() const noexcept {
    return unpadded_page_bytes().value_or(page_bytes());
  }
  /// Bytes of the recurrent states.
  std::optional<std::int64_t> state_bytes() const noexcept { return known(facts_.state_bytes); }
  /// States of a page by the spec; at least 1.
  std::int64_t slots() const noexcept { return facts_.slots; }
  /// Tokens of one state; `compress_ratio` where the spec has no `tokens_per_state`.
  Ratio tokens_per_state() const noexcept;
  /// Several tokens share one state.
  bool declares_compression() const noexcept {
    const Ratio ratio = tokens_per_state();
    return ratio.numerator > ratio.denominator || slots() < block_size();
  }

  // ---- fields of the spec ---------------------------------------------------------------------
  using Int = std::int64_t;
  Int page_size_padded(Int otherwise = 0) const noexcept {
    return integer("page_size_padded", otherwise);
  }
  /// `num_head_slots`, else `num_heads`, else `num_kv_heads`.
  Int heads(Int otherwise = 0) const noexcept {
    return num_head_slots(num_heads(num_kv_heads(otherwise)));
  }
  Int num_kv_heads(Int otherwise = 0) const noexcept { return integer("num_kv_heads", otherwise); }
  Int num_heads(Int otherwise = 0) const noexcept { return integer("num_heads", otherwise); }
  Int num_head_slots(Int otherwise = 0) const noexcept {
    return integer("num_head_slots", otherwise);
  }
  Int head_size(Int otherwise = 0) const noexcept { return integer("head_size", otherwise); }
  /// The engine's default is `head_size`.
  Int head_size_v() const noexcept { return integer("head_size_v", head_size()); }
  std::string_view dtype() const noexcept { return text("dtype"); }
  Value kv_quant_mode() const noexcept { return attribute("kv_quant_mode"); }
  Int num_states(Int otherwise = 0) const noexcept { return integer("num_states", otherwise); }
  Int state_content_size_bytes(Int otherwise = 0) const noexcept {
    return integer("state_content_size_bytes", otherwise);
  }
  Int state_content_bytes(Int otherwise = 0) const noexcept {
    return integer("state_content_bytes", otherwise);
  }
  Int compress_ratio() const noexcept { return integer("compress_ratio", 1); }
  Int storage_block_size(Int otherwise = 0) const noexcept {
    return integer("storage_block_size", otherwise);
  }
  Int tq_slot_size(Int otherwise = 0) const noexcept { return integer("tq_slot_size", otherwise); }
  Int sliding_window(Int otherwise = 0) const noexcept {
    return integer("sliding_window", otherwise);
  }
  Int attention_chunk_size(Int otherwise = 0) const noexcept {
    return integer("attention_chunk_size", otherwise);
  }
  Int alignment(Int otherwise = 0) const noexcept { return integer("alignment", otherwise); }
  /// Bytes, or JSON such as {"multiple_of": 16} (tokens).
  Value block_stride_alignment() const noexcept { return attribute("block_stride_alignment"); }
  std::string_view cache_dtype_str() const noexcept { return text("cache_dtype_str"); }
  bool prefix_cacheable() const noexcept { return attribute("prefix_cacheable").as_bool(true); }
  bool has_layer_views() const noexcept { return attribute("has_layer_views").as_bool(true); }
  bool dcp_sharded() const noexcept { return attribute("dcp_sharded").as_bool(!is(Kind::mamba)); }
  Value shapes() const noexcept { return attribute("shapes"); }
  Value dtypes() const noexcept { return attribute("dtypes"); }
  std::string_view mamba_cache_mode() const noexcept { return text("mamba_cache_mode", "none"); }
  std::string_view mamba_type() const noexcept { return text("mamba_type"); }
  Int num_speculative_blocks() const noexcept { return integer("num_speculative_blocks"); }

 protected:
  /// Complete: what the host did not give has its default.
  const kvedit_layer& facts() const noexcept { return facts_; }
  static std::optional<std::int64_t> known(std::int64_t number) noexcept {
    if (number == KVEDIT_ABSENT) return std::nullopt;
    return number;
  }

 private:
  kvedit_layer facts_ = {};
};

inline bool Spec::is_a(std::string_view class_name) const noexcept {
  if (type() == class_name) return true;
  for (std::size_t i = 0; i < bases(); ++i)
    if (base(i) == class_name) return true;
  return false;
}

inline Value Spec::attribute(std::string_view name) const noexcept {
  if (facts_.attributes == nullptr) return {};
  for (std::uint64_t i = 0; i < facts_.attribute_count; ++i)
    if (detail::view(facts_.attributes[i].name) == name) return Value(facts_.attributes[i].value);
  return {};
}

inline std::int64_t Spec::required_int(std::string_view name) const {
  const Value value = attribute(name);
  if (value.is_int()) return value.as_int();
  throw MissingField(reason("{} has no integer field {}", type(), name));
}

inline std::string_view Spec::required_text(std::string_view name) const {
  const Value value = attribute(name);
  if (value.is_text()) return value.as_text();
  throw MissingField(reason("{} has no text field {}", type(), name));
}

inline Ratio Spec::tokens_per_state() const noexcept {
  const Value value = attribute("tokens_per_state");
  if (value.is_int()) return {value.as_int(), 1};
  const std::string_view text = value.as_text();  // "1/4"
  std::int64_t numbers[2] = {0, 0};
  std::size_t at = 0;
  for (const char c : text) {
    if (c == '/' && at == 0) {
      at = 1;
    } else if (c >= '0' && c <= '9' && numbers[at] < 100'000'000) {
      numbers[at] = numbers[at] * 10 + (c - '0');
    } else {
      return {compress_ratio(), 1};
    }
  }
  if (numbers[0] < 1 || numbers[1] < 1) return {compress_ratio(), 1};
  return {numbers[0], numbers[1]};
}

}  // namespace kvedit::rule
#pragma GCC visibility pop
