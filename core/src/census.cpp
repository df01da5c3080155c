#include "census.hpp"

#include <algorithm>
#include <optional>

#include "audit/groups.hpp"
#include "base/text.hpp"
#include "match/classes.hpp"
#include "model/backends.hpp"
#include "prove/sane.hpp"
#include "prove/settle.hpp"

namespace kvedit {
namespace {

/// States of a page by the spec: `num_states`, else tokens over tokens per state. At least 1.
std::int64_t slots_of(const Spec& spec) {
  if (spec.recurrent()) return 1;
  if (spec.num_states) return std::max<std::int64_t>(*spec.num_states, 1);
  const Ratio ratio = spec.tokens_per_state.value_or(Ratio{});
  if (ratio.numerator <= 0) return 1;
  const Int128 slots = Int128{spec.block_size} * ratio.denominator / ratio.numerator;
  return static_cast<std::int64_t>(std::clamp<Int128>(slots, 1, INT64_MAX));
}

/// From block to block of the placement, in bytes; 0 for one that goes nowhere, -1 without one.
std::int64_t placed_stride_of(const RegistrationData& data, const LayerRef& layer) {
  if (layer.placement < 0) return -1;
  const Placement& placement = data.placements[static_cast<std::size_t>(layer.placement)];
  return std::max<std::int64_t>(placement.block_stride, 0);
}

/// The page of a wrapper is the sum over its leaves, never one layer's.
std::optional<Failure> without_leaf(const Spec& spec) {
  if (spec.type != "UniformTypeKVCacheSpecs") return std::nullopt;
  return Failure{Code::bad_geometry,
                 text("its group's spec is a UniformTypeKVCacheSpecs and gives no leaf for it; "
                      "page_size_bytes ",
                      spec.page_size_bytes, " is the sum over all leaves"),
                 {{"page_size_bytes", spec.page_size_bytes}}};
}

class Census {
 public:
  Census(Edit& edit, Findings& findings)
      : edit_(edit),
        findings_(findings),
        data_(edit.registration.data()),
        index_(edit.registration.index()) {}

  void run() {
    edit_.classes.reserve(8);
    list();
    for (std::size_t g = 0; g < data_.groups.size(); ++g) exclude(g);
    for (std::size_t l = 0; l < index_.layers.size(); ++l)
      if (edit_.layers[l].outcome != Outcome::excluded) classify(l);
  }

 private:
  void list() {
    edit_.layers.reserve(index_.layers.size() + index_.ungrouped.size());
    for (const LayerRef& layer : index_.layers) {
      LayerEntry& entry = edit_.layers.emplace_back();
      entry.name = *layer.name;
      entry.group = layer.group;
      entry.cache = layer.cache;
    }
  }

  void exclude(std::size_t g) {
    for (std::size_t l = index_.group_begin[g]; l < index_.group_begin[g + 1]; ++l) {
      if (!data_.groups[g].enable_kv_transfer)
        leave_out(l, "not-transferred");
      else if (!index_.layers[l].spec->has_layer_views)
        leave_out(l, "no-layer-view");
      else if (const std::int32_t twin = index_.layers[l].twin; twin >= 0)
        leave_out(l, text("shares ", edit_.layers[static_cast<std::size_t>(twin)].name));
    }
  }

  void leave_out(std::size_t layer, std::string reason) {
    edit_.layers[layer].outcome = Outcome::excluded;
    edit_.layers[layer].reason = static_cast<std::int32_t>(edit_.reasons.size());
    edit_.reasons.push_back(std::move(reason));
  }

  void classify(std::size_t l) {
    const LayerRef& layer = index_.layers[l];
    LayerEntry& entry = edit_.layers[l];
    if (layer.cache < 0) {
      findings_.add(entry, "",
                    {Code::missing_cache,
                     "no cache is registered for it; register it, or exclude its group "
                     "(enable_kv_transfer false)",
                     {}});
      return;
    }
    if (const auto failure = prove::placed_at_all(data_, index_, layer.cache)) {
      findings_.add(entry, "", *failure);
      return;
    }
    const std::int32_t number = class_of(layer);
    LayerClass& of = edit_.classes[static_cast<std::size_t>(number)];
    if (!of.failure)
      if (const auto failure = prove::leaves_storage(data_, index_, layer, of)) {
        findings_.add(entry, "", *failure);
        return;
      }
    ++of.layers;
    entry.layer_class = number;
  }

  /// Neighbours mostly have the same facts, by address.
  bool as_before(const LayerRef& layer, std::int32_t alike) {
    const bool listed = data_.caches[static_cast<std::size_t>(layer.cache)].is_list;
    const bool private_order = has_private_order(data_, *layer.name);
    const bool same = before_.spec == layer.spec && before_.group == layer.group &&
                      before_.placement == layer.placement && before_.cache == alike &&
                      listed_before_ == listed && private_before_ == private_order;
    listed_before_ = listed;
    private_before_ = private_order;
    before_ = layer;
    before_.cache = alike;
    return same;
  }

  std::int32_t class_of(const LayerRef& layer) {
    const auto g = static_cast<std::size_t>(layer.group);
    const auto alike =
        static_cast<std::size_t>(index_.alike_cache[static_cast<std::size_t>(layer.cache)]);
    if (as_before(layer, static_cast<std::int32_t>(alike))) return class_before_;
    match::ClassKey key;
    key.spec = layer.spec;
    key.tensors = data_.caches[alike].tensors.data();
    key.group = &data_.groups[static_cast<std::size_t>(index_.alike_group[g])];
    key.num_blocks = data_.groups[g].num_blocks.value_or(data_.num_blocks);
    key.placed_stride = placed_stride_of(data_, layer);
    key.tokens = audit::tokens_per_block(data_, data_.groups[g], *layer.spec);
    key.listed = listed_before_;
    key.private_order = private_before_;
    const std::int32_t number =
        classes_.classify(key, static_cast<std::int32_t>(edit_.classes.size()));
    if (static_cast<std::size_t>(number) == edit_.classes.size()) add_class(layer, key);
    return class_before_ = number;
  }

  void add_class(const LayerRef& layer, const match::ClassKey& key) {
    LayerClass& of = edit_.classes.emplace_back();
    of.facts = facts_of(edit_, layer);
    of.tokens = key.tokens;
    of.failure = without_leaf(*of.facts.spec);
    if (!of.failure) of.failure = prove::sane(of.facts);
    if (of.failure) return;
    for (const Tensor& tensor : of.facts.tensors) of.spans.push_back(prove::span_of(tensor));
  }

  Edit& edit_;
  Findings& findings_;
  const RegistrationData& data_;
  const RegistrationIndex& index_;
  match::Classes classes_;
  LayerRef before_;  // `cache`: the first alike
  bool listed_before_ = false;
  bool private_before_ = false;
  std::int32_t class_before_ = -1;
};

}  // namespace

void take_census(Edit& edit, Findings& findings) { Census(edit, findings).run(); }

LayerFacts facts_of(const Edit& edit, const LayerRef& layer) {
  const RegistrationData& data = edit.registration.data();
  const RegistrationIndex& index = edit.registration.index();
  const auto g = static_cast<std::size_t>(layer.group);
  LayerFacts facts;
  facts.spec = layer.spec;
  facts.group = &data.groups[static_cast<std::size_t>(index.alike_group[g])];
  facts.layout = data.layout;
  facts.purpose = edit.options.purpose;
  facts.num_blocks = data.groups[g].num_blocks.value_or(data.num_blocks);
  facts.slots = slots_of(*layer.spec);
  facts.placed_stride = placed_stride_of(data, layer);
  facts.private_order = layer.name && has_private_order(data, *layer.name);
  if (layer.cache >= 0) {
    const std::int32_t alike = index.alike_cache[static_cast<std::size_t>(layer.cache)];
    facts.tensors = data.caches[static_cast<std::size_t>(alike)].tensors;
    facts.listed = data.caches[static_cast<std::size_t>(layer.cache)].is_list;
  }
  return facts;
}

}  // namespace kvedit
