#include <array>
#include <charconv>
#include <limits>

#include <kvedit/spec.hpp>

#include "base/int128.hpp"

namespace kvedit {
namespace {

constexpr std::array integers = {
    "block_size",
    "page_size_bytes",
    "page_size_padded",
    "unpadded_page_size_bytes",
    "num_kv_heads",
    "num_heads",
    "num_head_slots",
    "head_size",
    "head_size_v",
    "num_states",
    "compress_ratio",
    "state_content_size_bytes",
    "sliding_window",
    "state_content_bytes",
    "tq_slot_size",
    "storage_block_size",
    "attention_chunk_size",
    "alignment",
    "num_speculative_blocks",
};
constexpr std::array booleans = {"prefix_cacheable", "has_layer_views", "dcp_sharded"};
constexpr std::array texts = {"kind", "dtype", "cache_dtype_str", "mamba_cache_mode", "mamba_type"};

std::string_view describe(const Value& value) {
  constexpr std::array<std::string_view, 7> names = {"null",
                                                     "a boolean",
                                                     "an integer",
                                                     "a number with a fraction",
                                                     "a string",
                                                     "an array",
                                                     "an object or a large number"};
  return names[static_cast<std::size_t>(value.kind)];
}

Error wrong(std::string field, const Value& value, std::string_view wanted) {
  return {std::move(field),
          std::string(describe(value)) + " where " + std::string(wanted) + " is wanted"};
}

template <std::size_t N>
bool among(const std::array<const char*, N>& names, std::string_view name) {
  for (const std::string_view each : names)
    if (each == name) return true;
  return false;
}

std::optional<Error> check_type(const Attribute& field) {
  const Value& value = field.value;
  if (value.kind == Value::Kind::null) return std::nullopt;
  if (among(integers, field.name) && value.kind != Value::Kind::integer)
    return wrong(field.name, value, "a 64-bit integer");
  if (among(booleans, field.name) && value.kind != Value::Kind::boolean)
    return wrong(field.name, value, "a boolean");
  if (among(texts, field.name) && value.kind != Value::Kind::text)
    return wrong(field.name, value, "a string");
  return std::nullopt;
}

const Value* given(const Spec& spec, std::string_view name) {
  const Value* value = spec.attribute(name);
  return value && value->kind != Value::Kind::null ? value : nullptr;
}

std::optional<std::int64_t> integer(const Spec& spec, std::string_view name) {
  const Value* value = given(spec, name);
  return value ? std::optional(value->integer) : std::nullopt;
}

bool boolean(const Spec& spec, std::string_view name, bool otherwise) {
  const Value* value = given(spec, name);
  return value ? value->integer != 0 : otherwise;
}

std::optional<Ratio> parse_ratio(std::string_view text) {
  Ratio ratio;
  const char* end = text.data() + text.size();
  auto [at, error] = std::from_chars(text.data(), end, ratio.numerator);
  if (error != std::errc()) return std::nullopt;
  if (at == end) return ratio;
  if (*at != '/') return std::nullopt;
  auto [last, second] = std::from_chars(at + 1, end, ratio.denominator);
  if (second != std::errc() || last != end || ratio.denominator <= 0) return std::nullopt;
  return ratio;
}

std::optional<Error> read_ratio(Spec& spec) {
  spec.tokens_per_state.reset();
  if (const Value* value = given(spec, "tokens_per_state")) {
    if (value->kind == Value::Kind::integer)
      spec.tokens_per_state = Ratio{value->integer, 1};
    else if (value->kind == Value::Kind::text)
      spec.tokens_per_state = parse_ratio(value->text);
    if (!spec.tokens_per_state)
      return wrong("tokens_per_state", *value, "an integer or a ratio like \"1/4\"");
  } else if (const auto ratio = integer(spec, "compress_ratio")) {
    spec.tokens_per_state = Ratio{*ratio, 1};
  }
  return std::nullopt;
}

std::optional<Error> read_kind(Spec& spec) {
  if (const Value* value = given(spec, "kind")) {
    const auto kind = find_kind(value->text);
    if (!kind)
      return Error{"kind", "\"" + value->text +
                               "\" is no kind; leave the field out to have it follow from type "
                               "and bases, or say \"unknown\""};
    spec.kind = *kind;
    return std::nullopt;
  }
  constexpr std::array<std::pair<std::string_view, Kind>, 9> known = {{
      {"SlidingWindowMLASpec", Kind::sliding_window_mla},
      {"MLAAttentionSpec", Kind::mla_attention},
      {"SinkFullAttentionSpec", Kind::sink_full_attention},
      {"FullAttentionSpec", Kind::full_attention},
      {"ChunkedLocalAttentionSpec", Kind::chunked_local_attention},
      {"SlidingWindowSpec", Kind::sliding_window},
      {"MambaSpec", Kind::mamba},
      {"EncoderOnlyAttentionSpec", Kind::encoder_only_attention},
      {"CrossAttentionSpec", Kind::cross_attention},
  }};
  const auto find = [&](std::string_view name) {
    for (const auto& [known_name, kind] : known)
      if (known_name == name) spec.kind = kind;
    return spec.kind != Kind::unknown;
  };
  if (find(spec.type)) return std::nullopt;
  for (const std::string& base : spec.bases)
    if (find(base)) break;
  return std::nullopt;
}

/// Bytes of one state: product of the dimensions; negative when one is not positive.
Int128 state_elements(const Value& shape) {
  Int128 elements = 1;
  for (const Value& extent : shape.items) {
    if (extent.integer <= 0) return -1;
    elements *= extent.integer;
    if (elements > std::numeric_limits<std::int64_t>::max())
      return std::numeric_limits<std::int64_t>::max();
  }
  return elements;
}

bool list_of(const Value& value, Value::Kind kind) {
  if (value.kind != Value::Kind::list) return false;
  for (const Value& item : value.items)
    if (item.kind != kind) return false;
  return true;
}

std::optional<Error> read_states(Spec& spec) {
  const Value* shapes = given(spec, "shapes");
  const Value* dtypes = given(spec, "dtypes");
  if (shapes && !list_of(*shapes, Value::Kind::list))
    return wrong("shapes", *shapes, "an array of arrays of integers");
  if (dtypes && !list_of(*dtypes, Value::Kind::text))
    return wrong("dtypes", *dtypes, "an array of dtype names");
  if (shapes)
    for (const Value& shape : shapes->items)
      if (!list_of(shape, Value::Kind::integer))
        return wrong("shapes", shape, "an array of integers");
  Int128 bytes = 0;
  bool sane = shapes && dtypes && shapes->items.size() == dtypes->items.size();
  if (dtypes)
    for (std::size_t i = 0; i < dtypes->items.size(); ++i) {
      const auto dtype = find_dtype(dtypes->items[i].text);
      if (!dtype) return Error{"dtypes", "\"" + dtypes->items[i].text + "\" is no known dtype"};
      if (!sane) continue;
      const Int128 elements = state_elements(shapes->items[i]);
      sane = elements > 0;
      bytes += elements * dtype->itemsize;
    }
  if (!spec.recurrent() || (!shapes && !dtypes)) return std::nullopt;
  constexpr Int128 most = std::numeric_limits<std::int64_t>::max();
  spec.state_bytes = sane ? static_cast<std::int64_t>(bytes < most ? bytes : most) : -1;
  return std::nullopt;
}

std::optional<Error> take_names(Spec& spec) {
  if (const Value* type = spec.attribute("type")) {
    if (type->kind != Value::Kind::text) return wrong("type", *type, "a class name");
    spec.type = type->text;
  }
  if (const Value* bases = spec.attribute("bases")) {
    if (!list_of(*bases, Value::Kind::text))
      return wrong("bases", *bases, "an array of class names");
    spec.bases.clear();
    for (const Value& base : bases->items) spec.bases.push_back(base.text);
  }
  if (spec.type.empty()) return Error{"type", "missing: the spec's class name is required"};
  return std::nullopt;
}

void take_optional(Spec& spec) {
  spec.page_size_padded = integer(spec, "page_size_padded");
  spec.unpadded_page_size_bytes = integer(spec, "unpadded_page_size_bytes");
  spec.head_size = integer(spec, "head_size");
  spec.head_size_v = integer(spec, "head_size_v");
  spec.num_states = integer(spec, "num_states");
  for (const char* name : {"num_kv_heads", "num_heads", "num_head_slots"})
    if (const auto heads = integer(spec, name)) spec.heads = heads;
  if (const Value* mode = given(spec, "mamba_cache_mode")) spec.mamba_cache_mode = mode->text;
  spec.prefix_cacheable = boolean(spec, "prefix_cacheable", true);
  spec.has_layer_views = boolean(spec, "has_layer_views", true);
  if (given(spec, "dcp_sharded")) spec.dcp_sharded = boolean(spec, "dcp_sharded", true);
}

}  // namespace

Expected<Spec> make_spec(std::string type, std::vector<std::string> bases,
                         std::vector<Attribute> attributes) {
  Spec spec;
  spec.type = std::move(type);
  spec.bases = std::move(bases);
  spec.attributes = std::move(attributes);
  if (auto error = take_names(spec)) return *error;
  for (std::size_t i = 0; i < spec.attributes.size(); ++i) {
    const Attribute& field = spec.attributes[i];
    if (&field.value != spec.attribute(field.name))
      return Error{field.name, "given twice; a spec gives each field once"};
    if (auto error = check_type(field)) return *error;
  }
  for (const char* name : {"block_size", "page_size_bytes"})
    if (!given(spec, name)) return Error{name, "missing: a spec gives it as an integer"};
  spec.block_size = *integer(spec, "block_size");
  spec.page_size_bytes = *integer(spec, "page_size_bytes");
  take_optional(spec);
  if (auto error = read_kind(spec)) return *error;
  if (auto error = read_ratio(spec)) return *error;
  if (auto error = read_states(spec)) return *error;
  return spec;
}

}  // namespace kvedit
