#include "audit/spec_bytes.hpp"

#include <algorithm>
#include <array>
#include <string_view>

#include "base/int128.hpp"
#include "base/text.hpp"
#include "model/content.hpp"
#include "model/elements.hpp"

namespace kvedit::audit {
namespace {

/// Others have page formulas of their own.
bool of_known_class(const Spec& spec) {
  constexpr std::array<std::string_view, 3> classes = {"FullAttentionSpec", "SlidingWindowSpec",
                                                       "ChunkedLocalAttentionSpec"};
  return std::find(classes.begin(), classes.end(), spec.type) != classes.end();
}

bool plain(const Spec& spec) {
  return of_known_class(spec) && !spec.num_states && plain_elements(spec);
}

std::optional<std::int64_t> unpadded_page(const Spec& spec) {
  if (spec.unpadded_page_size_bytes) return spec.unpadded_page_size_bytes;
  return spec.page_size_padded ? std::nullopt : std::optional(spec.page_size_bytes);
}

/// Of one head and state; what the spec says of content in a format of its own comes first.
std::optional<std::int64_t> content_of(const Spec& spec) {
  for (const char* name : {"state_content_bytes", "state_content_size_bytes"})
    if (const Value* bytes = spec.attribute(name))
      if (bytes->kind == Value::Kind::integer && bytes->integer > 0) return bytes->integer;
  return plain_elements(spec) ? content_bytes(spec) : std::nullopt;
}

/// Bytes of the states of a block by the spec, padding aside.
std::optional<Int128> states_by_spec(const LayerFacts& facts) {
  const Spec& spec = *facts.spec;
  const bool latent = spec.type == "MLAAttentionSpec" || spec.type == "SlidingWindowMLASpec";
  if (!latent && !(of_known_class(spec) && spec.heads)) return std::nullopt;
  const std::int64_t heads = spec.heads.value_or(1);
  const auto content = content_of(spec);
  constexpr std::int64_t sensible = std::int64_t{1} << 30;
  if (!content || heads <= 0 || heads > sensible || *content <= 0 || *content > sensible)
    return std::nullopt;
  return Int128{heads} * *content * facts.slots;
}

}  // namespace

std::optional<Failure> other_bytes_than_the_spec_makes(const LayerFacts& facts) {
  const Spec& spec = *facts.spec;
  const auto page = unpadded_page(spec);
  const auto dtype = dtype_of(spec);
  if (!plain(spec) || !page || !dtype || !spec.heads || !spec.head_size) return std::nullopt;
  const Int128 content = Int128{*spec.head_size} + spec.head_size_v.value_or(*spec.head_size);
  constexpr std::int64_t sensible = std::int64_t{1} << 30;
  if (*spec.heads > sensible || content > sensible) return std::nullopt;
  const Int128 made = content * *spec.heads * facts.slots * dtype->itemsize;
  if (made == *page) return std::nullopt;
  return Failure{
      Code::bad_geometry,
      text(facts.slots, " states of ", *spec.heads, " heads of ", content, " ", dtype->name,
           " elements are ", saturated(made), " bytes and the page has ", *page,
           "; the bytes are right, but tokens, slots and chunk sizes follow from "
           "block_size ",
           spec.block_size, ": check it, the heads and the dtype against the engine's"),
      {{"spec_bytes", saturated(made)}, {"page_bytes", *page}},
      Severity::warning};
}

std::optional<Failure> another_number_of_blocks(const LayerClass& of) {
  const Spec& spec = *of.facts.spec;
  if (spec.recurrent() || !spec.page_size_padded || spec.unpadded_page_size_bytes)
    return std::nullopt;
  const auto made = states_by_spec(of.facts);
  if (!made) return std::nullopt;
  const Int128 block = shown_bytes(*of.page);
  if (block == *made || block % *made != 0) return std::nullopt;
  return Failure{
      Code::bad_geometry,
      text("a block of ", block, " bytes, ", of.page->kernel_pages, " entries, is ", block / *made,
           " times the ", *made, " bytes that heads, head size, dtype and ", of.facts.slots,
           " states of the spec make, and no unpadded_page_size_bytes tells which is right; "
           "num_blocks ",
           of.facts.num_blocks,
           " is probably too small by that factor: check it "
           "against the engine's"),
      {{"spec_bytes", saturated(*made)},
       {"block_bytes", saturated(block)},
       {"num_blocks", of.facts.num_blocks}},
      Severity::warning};
}

}  // namespace kvedit::audit
