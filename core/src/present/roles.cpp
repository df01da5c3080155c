#include "present/roles.hpp"

#include <array>
#include <optional>
#include <span>
#include <string_view>

#include "base/inline_vector.hpp"

namespace kvedit::present {
namespace {

using Named = InlineVector<Role, max_axes>;
using Extents = InlineVector<std::int64_t, max_axes>;
using Strides = InlineVector<std::int64_t, max_axes>;

bool is_mla(const Spec& spec) {
  return spec.kind == Kind::mla_attention || spec.kind == Kind::sliding_window_mla;
}

bool fits(const LayerFacts& facts, Role role, std::int64_t extent) {
  switch (role) {
    case Role::kv:
      return extent == 2;
    case Role::head:
      return facts.spec->heads ? extent == *facts.spec->heads : extent == 1;
    case Role::token:
      return extent == facts.slots;
    default:
      return true;
  }
}

bool fits(const LayerFacts& facts, std::span<const Role> order, const Extents& extents) {
  if (order.size() != extents.size()) return false;
  for (std::size_t i = 0; i < order.size(); ++i)
    if (!fits(facts, order[i], extents[i])) return false;
  return true;
}

/// Orders of the axes beside the block axis; docs/formats.md, `layout`.
constexpr std::array packed_heads_first = {Role::head, Role::token, Role::content};
constexpr std::array packed_tokens_first = {Role::token, Role::head, Role::content};
constexpr std::array split_tokens_first = {Role::kv, Role::token, Role::head, Role::content};
constexpr std::array split_heads_first = {Role::kv, Role::head, Role::token, Role::content};
constexpr std::array latent = {Role::token, Role::content};

/// Whether heads and tokens of these axes lie in memory as the layout says.
bool as_laid_out(std::string_view layout, std::span<const Role> order, const Strides& strides) {
  if (layout.empty()) return true;
  std::int64_t head = 0, token = 0;
  for (std::size_t i = 0; i < order.size(); ++i) {
    if (order[i] == Role::head) head = strides[i];
    if (order[i] == Role::token) token = strides[i];
  }
  return (layout.find('H') < layout.find('N')) == (head > token);
}

/// As many heads as tokens: two orders fit, and where the layout contradicts the engines' own, no
/// name is better than a wrong one.
std::optional<Named> order_of(const LayerFacts& facts, const Extents& extents,
                              const Strides& strides) {
  const std::span<const Role> known[] = {packed_heads_first, packed_tokens_first,
                                         split_tokens_first, split_heads_first, latent};
  std::span<const Role> first;
  std::size_t fitting = 0;
  for (const std::span<const Role> order : known) {
    if (!fits(facts, order, extents)) continue;
    if (fitting++ == 0) first = order;
  }
  const bool one_of_each = facts.slots == 1;  // then their strides say nothing
  if (fitting == 0) return std::nullopt;
  if (fitting > 1 && !one_of_each && !as_laid_out(facts.layout, first, strides))
    return std::nullopt;
  Named named;
  for (const Role role : first) named.push_back(role);
  return named;
}

bool is_float(const DType& dtype) {
  constexpr std::uint8_t signed_integer = 0, unsigned_integer = 1, boolean = 6;
  return dtype.code != signed_integer && dtype.code != unsigned_integer && dtype.code != boolean &&
         dtype.code != DType::opaque_code && dtype.lanes == 1;
}

}  // namespace

void name_axes(const LayerFacts& facts, Box& box) {
  Extents extents;
  Strides strides;
  for (const Axis& axis : box.axes) {
    if (axis.role == Role::block) continue;
    extents.push_back(axis.extent);
    strides.push_back(axis.stride);
  }
  const auto named =
      facts.spec->recurrent() ? std::optional<Named>() : order_of(facts, extents, strides);
  std::size_t next = 0;
  for (Axis& axis : box.axes)
    if (axis.role != Role::block) axis.role = named ? (*named)[next++] : Role::opaque;
}

bool plain_content(const LayerFacts& facts, const Box& box) {
  const Spec& spec = *facts.spec;
  if (!spec.head_size || !is_float(facts.tensors[box.tensor].dtype)) return false;
  std::int64_t content = 1;
  bool split = facts.tensors.size() > 1, named = false;
  for (const Axis& axis : box.axes) {
    if (axis.role == Role::opaque) return false;
    if (axis.role == Role::content) content *= axis.extent, named = true;
    split = split || axis.role == Role::kv;
  }
  const std::int64_t value = split || is_mla(spec) ? 0 : spec.head_size_v.value_or(*spec.head_size);
  return named && content == *spec.head_size + value;
}

}  // namespace kvedit::present
