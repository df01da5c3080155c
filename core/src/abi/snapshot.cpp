#include "abi/snapshot.hpp"

#include <algorithm>
#include <limits>
#include <string_view>

#include "base/int128.hpp"

namespace kvedit {
namespace {

template <class Enum>
constexpr std::uint32_t number(Enum value) {
  return static_cast<std::uint32_t>(value);
}

// Both sides count alike, so that no table translates between them.
static_assert(number(Kind::unknown) == KVEDIT_KIND_UNKNOWN);
static_assert(number(Kind::full_attention) == KVEDIT_KIND_FULL_ATTENTION);
static_assert(number(Kind::mla_attention) == KVEDIT_KIND_MLA_ATTENTION);
static_assert(number(Kind::sliding_window) == KVEDIT_KIND_SLIDING_WINDOW);
static_assert(number(Kind::sliding_window_mla) == KVEDIT_KIND_SLIDING_WINDOW_MLA);
static_assert(number(Kind::mamba) == KVEDIT_KIND_MAMBA);
static_assert(number(Kind::chunked_local_attention) == KVEDIT_KIND_CHUNKED_LOCAL_ATTENTION);
static_assert(number(Kind::sink_full_attention) == KVEDIT_KIND_SINK_FULL_ATTENTION);
static_assert(number(Kind::encoder_only_attention) == KVEDIT_KIND_ENCODER_ONLY_ATTENTION);
static_assert(number(Kind::cross_attention) == KVEDIT_KIND_CROSS_ATTENTION);
static_assert(number(Purpose::prefix) == KVEDIT_PURPOSE_PREFIX);
static_assert(number(Purpose::transfer) == KVEDIT_PURPOSE_TRANSFER);
static_assert(number(Value::Kind::null) == KVEDIT_VALUE_NULL);
static_assert(number(Value::Kind::boolean) == KVEDIT_VALUE_BOOLEAN);
static_assert(number(Value::Kind::integer) == KVEDIT_VALUE_INTEGER);
static_assert(number(Value::Kind::real) == KVEDIT_VALUE_REAL);
static_assert(number(Value::Kind::text) == KVEDIT_VALUE_TEXT);
static_assert(number(Value::Kind::list) == KVEDIT_VALUE_LIST);
static_assert(number(Value::Kind::json) == KVEDIT_VALUE_JSON);

kvedit_text text(std::string_view view) { return {view.data(), view.size()}; }

/// Numbers beyond 64 bits occur only in registrations that the host refuses.
std::int64_t nearest(Int128 value) {
  using Limits = std::numeric_limits<std::int64_t>;
  return static_cast<std::int64_t>(std::clamp<Int128>(value, Limits::min(), Limits::max()));
}

std::size_t count_items(const Value& value) {
  std::size_t count = value.items.size();
  for (const Value& item : value.items) count += count_items(item);
  return count;
}

std::uint32_t flags_of(const Group& group) {
  return (group.enable_kv_transfer ? KVEDIT_GROUP_TRANSFERRED : 0u) |
         (group.host_resident ? KVEDIT_GROUP_HOST_RESIDENT : 0u) |
         (group.is_eagle_group ? KVEDIT_GROUP_EAGLE : 0u);
}

Int128 first_element(const Tensor& tensor) {
  return Int128{tensor.storage_offset} * tensor.dtype.itemsize;
}

kvedit_tensor describe(const Tensor& tensor, const Tensor& first, const std::int64_t* strides) {
  const bool shares = tensor.storage == first.storage;
  kvedit_tensor out{};
  out.struct_size = sizeof out;
  out.dtype_name = text(tensor.dtype.name);
  out.dtype_code = tensor.dtype.code;
  out.dtype_bits = tensor.dtype.bits;
  out.dtype_lanes = tensor.dtype.lanes;
  out.item_bytes = tensor.dtype.itemsize;
  out.rank = tensor.shape.size();
  out.extents = tensor.shape.data();
  out.strides = strides;
  out.offset = shares ? nearest(first_element(tensor) - first_element(first)) : 0;
  out.shares_storage = shares ? 1 : 0;
  return out;
}

}  // namespace

Snapshot::Snapshot(const LayerFacts& facts) {
  layer_.struct_size = sizeof layer_;
  layer_.layout = text(facts.layout);
  layer_.group_flags = KVEDIT_GROUP_TRANSFERRED;
  if (facts.group != nullptr) {
    layer_.role = text(facts.group->role);
    layer_.group_flags = flags_of(*facts.group);
  }
  layer_.purpose = number(facts.purpose);
  layer_.num_blocks = facts.num_blocks;
  layer_.slots = facts.slots;
  layer_.placed_block_stride = facts.placed_stride < 0 ? KVEDIT_ABSENT : facts.placed_stride;
  add_spec(*facts.spec);
  add_tensors(facts.tensors);
}

void Snapshot::add_spec(const Spec& spec) {
  layer_.type = text(spec.type);
  bases_.reserve(spec.bases.size());
  for (const std::string& base : spec.bases) bases_.push_back(text(base));
  layer_.bases = bases_.data();
  layer_.base_count = bases_.size();
  layer_.kind = number(spec.kind);
  layer_.block_size = spec.block_size;
  layer_.page_bytes = spec.page_size_bytes;
  layer_.unpadded_page_bytes = spec.unpadded_page_size_bytes.value_or(KVEDIT_ABSENT);
  layer_.state_bytes = spec.state_bytes.value_or(KVEDIT_ABSENT);

  std::size_t items = 0;
  for (const Attribute& each : spec.attributes) items += count_items(each.value);
  items_.reserve(items);
  attributes_.resize(spec.attributes.size());
  for (std::size_t i = 0; i < attributes_.size(); ++i) {
    attributes_[i].name = text(spec.attributes[i].name);
    show(spec.attributes[i].value, attributes_[i].value);
  }
  layer_.attributes = attributes_.data();
  layer_.attribute_count = attributes_.size();
}

void Snapshot::show(const Value& value, kvedit_value& out) {
  out.kind = number(value.kind);
  out.integer = value.integer;
  out.real = value.real;
  out.text = text(value.text);
  if (value.items.empty()) return;
  const std::size_t first = items_.size();
  items_.resize(first + value.items.size());
  out.items = items_.data() + first;
  out.item_count = value.items.size();
  for (std::size_t i = 0; i < value.items.size(); ++i) show(value.items[i], items_[first + i]);
}

void Snapshot::add_tensors(std::span<const Tensor> tensors) {
  std::size_t axes = 0;
  for (const Tensor& tensor : tensors) axes += tensor.shape.size();
  strides_.resize(axes);
  tensors_.reserve(tensors.size());
  std::int64_t* strides = strides_.data();
  for (const Tensor& tensor : tensors) {
    const std::size_t given = std::min(tensor.shape.size(), tensor.stride.size());
    for (std::size_t i = 0; i < given; ++i)
      strides[i] = nearest(Int128{tensor.stride[i]} * tensor.dtype.itemsize);
    tensors_.push_back(describe(tensor, tensors.front(), strides));
    strides += tensor.shape.size();
  }
  layer_.tensors = tensors_.data();
  layer_.tensor_count = tensors_.size();
  layer_.tensor_stride = sizeof(kvedit_tensor);
}

const kvedit_layer& snapshot(const LayerFacts& facts) {
  if (!facts.prepared) facts.prepared = std::make_shared<const Snapshot>(facts);
  return static_cast<const Snapshot*>(facts.prepared.get())->layer();
}

}  // namespace kvedit
