#include "model/elements.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <string>
#include <string_view>

#include "base/int128.hpp"

namespace kvedit {
namespace {

const Value* given(const Spec& spec, std::string_view name) {
  const Value* value = spec.attribute(name);
  return value && value->kind != Value::Kind::null ? value : nullptr;
}

std::string lower(std::string_view words) {
  std::string all(words);
  for (char& c : all) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return all;
}

template <class Names>
bool one_of(const Names& names, std::string_view name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

bool without_scales(const Spec& spec) {
  const Value* mode = given(spec, "kv_quant_mode");
  if (!mode) return true;
  if (mode->kind == Value::Kind::integer) return mode->integer == 0;
  constexpr std::array<std::string_view, 2> plain = {"none", "fp8_per_tensor"};
  return mode->kind == Value::Kind::text && one_of(plain, lower(mode->text));
}

bool unpacked(const Spec& spec) {
  const Value* slot = given(spec, "tq_slot_size");
  if (slot && (slot->kind != Value::Kind::integer || slot->integer != 0)) return false;
  const Value* format = given(spec, "cache_dtype_str");
  if (!format) return true;
  constexpr std::array<std::string_view, 5> plain = {"auto", "fp8", "fp8_e4m3", "fp8_e5m2",
                                                     "fp8_inc"};
  return format->kind == Value::Kind::text &&
         (one_of(plain, format->text) || find_dtype(format->text));
}

bool of_own_size(const Spec& spec) {
  const auto content = content_bytes(spec);
  if (!content) return true;
  for (const char* name : {"state_content_bytes", "state_content_size_bytes"})
    if (const Value* bytes = given(spec, name))
      if (bytes->kind != Value::Kind::integer || bytes->integer != *content) return false;
  return true;
}

}  // namespace

bool is_latent(const Spec& spec) {
  return spec.kind == Kind::mla_attention || spec.kind == Kind::sliding_window_mla;
}

std::optional<DType> dtype_of(const Spec& spec) {
  const Value* dtype = spec.attribute("dtype");
  return dtype && dtype->kind == Value::Kind::text ? find_dtype(dtype->text) : std::nullopt;
}

std::optional<std::int64_t> content_bytes(const Spec& spec) {
  const auto dtype = dtype_of(spec);
  if (!dtype || !spec.head_size) return std::nullopt;
  const std::int64_t value = is_latent(spec) ? 0 : spec.head_size_v.value_or(*spec.head_size);
  return saturated((Int128{*spec.head_size} + value) * dtype->itemsize);
}

bool plain_elements(const Spec& spec) {
  return without_scales(spec) && unpacked(spec) && of_own_size(spec);
}

}  // namespace kvedit
