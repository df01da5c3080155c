#include "present/roles.hpp"

#include <array>
#include <span>
#include <string_view>

#include "base/inline_vector.hpp"

namespace kvedit::present {
namespace {

using Extents = InlineVector<std::int64_t, max_axes>;

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
bool as_laid_out(std::string_view layout, const Box& box, std::span<const Role> order) {
  std::int64_t head = 0, token = 0;
  std::size_t next = 0;
  for (const Axis& axis : box.axes) {
    if (axis.role == Role::block) continue;
    if (order[next] == Role::head) head = axis.stride;
    if (order[next] == Role::token) token = axis.stride;
    ++next;
  }
  return (layout.find('H') < layout.find('N')) == (head > token);
}

/// As many heads as tokens: two orders fit. Without a layout nothing tells them apart, and where it
/// contradicts the engines' own order, no name is better than a wrong one.
std::span<const Role> order_of(const LayerFacts& facts, const Box& box, const Extents& extents) {
  const std::span<const Role> heads_first = packed_heads_first, tokens_first = packed_tokens_first;
  const bool apart = facts.tensors.size() > 1;  // K and V in tensors of their own: tokens first
  const std::span<const Role> known[] = {apart ? tokens_first : heads_first,
                                         apart ? heads_first : tokens_first, split_tokens_first,
                                         split_heads_first, latent};
  std::span<const Role> first;
  std::size_t fitting = 0;
  for (const std::span<const Role> order : known)
    if (fits(facts, order, extents) && fitting++ == 0) first = order;
  if (fitting < 2 || facts.slots == 1) return first;  // strides of extent 1 say nothing
  const bool told = !facts.layout.empty() && as_laid_out(facts.layout, box, first);
  return told ? first : std::span<const Role>();
}

}  // namespace

void name_axes(const LayerFacts& facts, Box& box) {
  Extents extents;
  for (const Axis& axis : box.axes)
    if (axis.role != Role::block) extents.push_back(axis.extent);
  std::span<const Role> named;
  if (!facts.spec->recurrent()) named = order_of(facts, box, extents);
  std::size_t next = 0;
  for (Axis& axis : box.axes)
    if (axis.role != Role::block) axis.role = named.empty() ? Role::opaque : named[next++];
}

}  // namespace kvedit::present
