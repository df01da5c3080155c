#include <algorithm>
#include <compare>
#include <initializer_list>
#include <iterator>

#include "reference/ownership.hpp"
#include "reference/reference.hpp"
#include "reference/states.hpp"

namespace kvedit::reference {
namespace {

const Cache* find_cache(const RegistrationData& data, const std::string& layer) {
  for (const Cache& cache : data.caches)
    if (cache.layer == layer) return &cache;
  return nullptr;
}

const Spec& leaf_of(const Group& group, const std::string& layer) {
  const auto leaf = group.layer_specs.find(layer);
  return leaf == group.layer_specs.end() ? group.spec : leaf->second;
}

std::optional<Place> place_of(const RegistrationData& data, const std::string& layer) {
  for (const Placement& placement : data.placements)
    for (std::size_t i = 0; i < placement.layers.size(); ++i)
      if (placement.layers[i] == layer)
        return Place{find_storage(data, placement.storage),
                     placement.offset + Wide{placement.layer_stride} * static_cast<Wide>(i),
                     placement.block_stride};
  return std::nullopt;
}

bool same_place(const std::optional<Place>& a, const std::optional<Place>& b) {
  if (!a || !b) return a.has_value() == b.has_value();
  return a->storage == b->storage && a->start == b->start && a->block_stride == b->block_stride;
}

bool same_bytes(const Cache& a, const Cache& b) {
  if (a.tensors.size() != b.tensors.size()) return false;
  for (std::size_t i = 0; i < a.tensors.size(); ++i) {
    const Tensor& x = a.tensors[i];
    const Tensor& y = b.tensors[i];
    if (x.storage != y.storage || x.storage_offset != y.storage_offset || x.shape != y.shape ||
        x.stride != y.stride || x.dtype.itemsize != y.dtype.itemsize)
      return false;
  }
  return true;
}

void refuse(LayerTruth& layer, std::set<Code> codes, std::string why) {
  layer.fate = Fate::refused;
  layer.codes = std::move(codes);
  layer.why = std::move(why);
}

void exclude(LayerTruth& layer, std::string why) {
  layer.fate = Fate::excluded;
  layer.why = std::move(why);
}

/// Why the layer is left out before anything is checked, or an empty text.
std::string exclusion(const RegistrationData& data, const Group& group, std::size_t position) {
  const std::string& name = group.layers[position];
  if (!group.enable_kv_transfer) return "not-transferred";
  if (!leaf_of(group, name).has_layer_views) return "no-layer-view";
  const Cache* cache = find_cache(data, name);
  for (std::size_t i = 0; cache != nullptr && i < position; ++i) {
    const Cache* earlier = find_cache(data, group.layers[i]);
    const Spec& spec = leaf_of(group, group.layers[i]);
    if (earlier != nullptr && group.layers[i] != name && same_bytes(*earlier, *cache) &&
        spec.has_layer_views && spec == leaf_of(group, name) &&
        same_place(place_of(data, group.layers[i]), place_of(data, name)))
      return "shares " + group.layers[i];
  }
  return "";
}

/// A block of whole states, where the spec gives block size, tokens of a state and states.
bool states_agree(const Spec& spec) {
  if (spec.recurrent() || !spec.num_states || !spec.attribute("tokens_per_state") ||
      !spec.tokens_per_state || spec.tokens_per_state->numerator <= 0)
    return true;
  const Wide tokens = Wide{spec.block_size} * spec.tokens_per_state->denominator;
  const Wide kept = Wide{*spec.num_states} * spec.tokens_per_state->numerator;
  return kept <= tokens && tokens - kept < spec.tokens_per_state->numerator;
}

/// Faults of the spec alone.
bool refuse_by_spec(LayerTruth& layer, const Spec& spec, Purpose purpose) {
  if (purpose == Purpose::prefix && spec.kind == Kind::cross_attention)
    refuse(layer, {Code::cross_attention}, "cross attention");
  else if (purpose == Purpose::prefix && spec.recurrent() && spec.mamba_cache_mode != "align" &&
           spec.mamba_cache_mode != "all")
    refuse(layer, {Code::mamba_cache_mode}, "mamba cache mode");
  else if (spec.block_size <= 0 || spec.page_size_bytes <= 0)
    refuse(layer, {Code::bad_geometry}, "block size or page not positive");
  else if (spec.unpadded_page_size_bytes.value_or(1) > spec.page_size_bytes ||
           spec.unpadded_page_size_bytes.value_or(1) <= 0)
    refuse(layer, {Code::bad_geometry}, "unpadded page above the page, or not positive");
  else if (spec.page_size_padded.value_or(spec.page_size_bytes) != spec.page_size_bytes)
    refuse(layer, {Code::bad_geometry}, "two padded pages");
  else if (!states_agree(spec))
    refuse(layer, {Code::bad_geometry}, "tokens, tokens per state and states do not agree");
  else if (spec.recurrent() && state_bytes_of(spec).value_or(0) > spec.page_size_bytes)
    refuse(layer, {Code::bad_geometry}, "state bytes above the page");
  else
    return false;
  return true;
}

/// Faults of the tensors alone.
bool refuse_by_tensors(LayerTruth& layer, const RegistrationData& data, const Cache* cache,
                       std::int64_t most) {
  if (cache == nullptr || cache->tensors.empty()) {
    refuse(layer, {Code::missing_cache}, "no cache");
    return true;
  }
  for (const Tensor& tensor : cache->tensors)
    if (const std::optional<std::string> fault = fault_of(data, tensor)) {
      refuse(layer, {Code::bad_geometry}, *fault);
      return true;
    }
  if (layer.blocks <= 0) {
    refuse(layer, {Code::bad_geometry, Code::block_count}, "no blocks");
    return true;
  }
  Wide bytes = 0;
  for (const Tensor& tensor : cache->tensors)
    bytes += element_count(tensor) * tensor.dtype.itemsize;
  if (bytes <= most && layer.blocks <= most) return false;
  layer.fate = Fate::undetermined;
  layer.why = "too large to enumerate";
  return true;
}

bool addresses_twice(const Cache& cache) {
  return std::any_of(cache.tensors.begin(), cache.tensors.end(),
                     [](const Tensor& tensor) { return meets_itself(tensor); });
}

/// Windows too wide to enumerate.
bool refuse_wide_window(LayerTruth& layer, const Subject& subject, const Reading& reading) {
  const Byte& last = reading.raw.back().front();
  const std::int64_t page = subject.spec->page_size_bytes;
  if (page <= enumerable) return false;
  const Storage& storage = subject.data->storages[static_cast<std::size_t>(last.storage)];
  layer.fate = Fate::undetermined;
  if (Wide{last.offset} + page > storage.nbytes)
    refuse(layer, {Code::bad_geometry, Code::outside_page, Code::overlap},
           "owns bytes beyond the storage");
  return true;
}

/// A page above what it holds, without declared padding: nothing in the definition forbids it, but
/// a host may take it for a spec that contradicts itself.
bool pads_silently(const Spec& spec) {
  const std::int64_t page = spec.page_size_bytes;
  return !spec.page_size_padded && (spec.unpadded_page_size_bytes.value_or(page) != page ||
                                    state_bytes_of(spec).value_or(page) != page);
}

void own(LayerTruth& layer, const Subject& subject, const Reading& reading) {
  layer.kernel_pages = reading.k;
  layer.window = owns_window(subject, reading);
  layer.item = subject.tensors->front().dtype.itemsize;
  if (layer.window && refuse_wide_window(layer, subject, reading)) return;
  layer.owned = owned_bytes(subject, reading, layer.window);
  layer.payload = payload_bytes(subject, reading, layer.window);
  layer.slots = slots_of(subject, reading, layer.window);
  if (reading.twice)
    refuse(layer, {Code::overlap}, "two elements of a block at one byte");
  else if (!starts_as_placed(subject, reading))
    refuse(layer, {Code::placement_mismatch}, "does not start where it is placed");
  else if (!inside_storages(*subject.data, layer.owned))
    refuse(layer, {Code::bad_geometry, Code::outside_page}, "owns bytes beyond the storage");
}

void serve(LayerTruth& layer, const Subject& subject, const Cache& cache) {
  ReadingTruth found = find_reading(subject);
  if (!found.reading) {
    refuse(layer, found.codes, found.why);
    if (addresses_twice(cache)) layer.codes.insert({Code::overlap, Code::bad_geometry});
    return;
  }
  layer.fate = found.undetermined ? Fate::undetermined : Fate::served;
  layer.may_refuse = found.may_refuse;
  layer.codes = found.codes;
  if (layer.blocks == 1) layer.no_rule = "of one block, which any axis may hold";
  if (found.rivals) layer.no_rule = "of two axes that only a placement could tell apart";
  if (subject.spec->kind == Kind::unknown) layer.no_rule = "of a kind that no rule knows";
  if (pads_silently(*subject.spec)) {
    layer.may_refuse = true;
    layer.codes.insert(Code::bad_geometry);
  }
  if (addresses_twice(cache)) {  // perhaps only in a tail
    layer.may_refuse = true;
    layer.codes.insert(Code::overlap);
  }
  own(layer, subject, *found.reading);
  if (found.any_k) {
    layer.kernel_pages = 0;
    layer.slots.reset();
  }
}

LayerTruth judge_layer(const RegistrationData& data, std::size_t group_index, std::size_t position,
                       Purpose purpose, std::int64_t most) {
  const Group& group = data.groups[group_index];
  const Spec& spec = leaf_of(group, group.layers[position]);
  LayerTruth layer;
  layer.name = group.layers[position];
  layer.group = static_cast<std::int32_t>(group_index);
  layer.blocks = group.num_blocks.value_or(data.num_blocks);
  layer.recurrent = spec.recurrent();
  layer.scratch = purpose == Purpose::prefix && !spec.prefix_cacheable;
  layer.tokens = tokens_of(data, group, spec);
  const std::string excluded = exclusion(data, group, position);
  const Cache* cache = find_cache(data, layer.name);
  if (!excluded.empty())
    exclude(layer, excluded);
  else if (!refuse_by_spec(layer, spec, purpose) && !refuse_by_tensors(layer, data, cache, most))
    serve(layer, {&data, &spec, &cache->tensors, layer.blocks, place_of(data, layer.name)}, *cache);
  return layer;
}

struct Claim {
  std::int32_t group;
  Byte first;
  std::int64_t end;  // of bytes that follow each other
  std::size_t layer;

  auto operator<=>(const Claim&) const = default;
};

void claim(std::vector<Claim>& claims, const LayerTruth& layer, std::size_t number) {
  for (const Bytes& block : layer.owned)
    for (std::size_t i = 0; i < block.size(); ++i) {
      const bool follows = i > 0 && block[i].storage == block[i - 1].storage &&
                           block[i].offset == block[i - 1].offset + 1;
      if (!follows) claims.push_back({layer.group, block[i], block[i].offset, number});
      ++claims.back().end;
    }
}

/// "Disjoint": every owned byte of a group has one layer and one block.
void refuse_overlaps(std::vector<LayerTruth>& layers) {
  std::vector<Claim> claims;
  for (std::size_t i = 0; i < layers.size(); ++i)
    if (layers[i].fate == Fate::served) claim(claims, layers[i], i);
  std::sort(claims.begin(), claims.end());
  std::size_t furthest = 0;
  for (std::size_t i = 1; i < claims.size(); ++i) {
    const Claim& before = claims[furthest];
    const bool near =
        before.group == claims[i].group && before.first.storage == claims[i].first.storage;
    if (near && claims[i].first.offset < before.end)
      for (const std::size_t layer : {before.layer, claims[i].layer})
        refuse(layers[layer], {Code::overlap}, "two blocks or two layers own one byte");
    if (!near || claims[i].end > before.end) furthest = i;
  }
}

LayerTruth judge_ungrouped(const RegistrationData& data, const Cache& cache,
                           const std::vector<LayerTruth>& grouped, std::int64_t most) {
  LayerTruth layer;
  layer.name = cache.layer;
  refuse(layer, {Code::missing_spec, Code::bad_geometry}, "in no group");
  Bytes bytes;
  for (const Tensor& tensor : cache.tensors) {
    if (fault_of(data, tensor)) return layer;
    if (element_count(tensor) > most) {
      layer.fate = Fate::undetermined;
      layer.why = "too large to enumerate";
      return layer;
    }
    append_all(tensor, find_storage(data, tensor.storage), bytes);
  }
  sort_and_unite(bytes);
  for (const LayerTruth& other : grouped) {
    Bytes owned;
    for (const Bytes& block : other.owned) owned.insert(owned.end(), block.begin(), block.end());
    sort_and_unite(owned);
    if (other.fate == Fate::undetermined) {  // the first that it shares with may be this one
      layer.fate = Fate::undetermined;
      return layer;
    }
    const Cache* registered = find_cache(data, other.name);
    const bool same = registered != nullptr && same_bytes(*registered, cache);  // a tail included
    if (other.fate == Fate::served && (same || contains(owned, bytes))) {
      exclude(layer, "shares " + other.name);
      return layer;
    }
  }
  return layer;
}

}  // namespace

Truth judge(const RegistrationData& data, Purpose purpose, std::int64_t most) {
  Truth truth;
  for (std::size_t group = 0; group < data.groups.size(); ++group)
    for (std::size_t i = 0; i < data.groups[group].layers.size(); ++i)
      truth.layers.push_back(judge_layer(data, group, i, purpose, most));
  refuse_overlaps(truth.layers);
  const std::vector<LayerTruth>& grouped = truth.layers;
  std::vector<LayerTruth> ungrouped;
  for (const Cache& cache : data.caches) {
    const bool known = std::any_of(grouped.begin(), grouped.end(), [&](const LayerTruth& layer) {
      return layer.name == cache.layer;
    });
    if (!known) ungrouped.push_back(judge_ungrouped(data, cache, grouped, most));
  }
  std::move(ungrouped.begin(), ungrouped.end(), std::back_inserter(truth.layers));
  return truth;
}

bool Truth::any(Fate fate) const {
  return std::any_of(layers.begin(), layers.end(),
                     [&](const LayerTruth& layer) { return layer.fate == fate; });
}

std::set<Code> Truth::codes() const {
  std::set<Code> all;
  for (const LayerTruth& layer : layers)
    if (layer.fate == Fate::refused) all.insert(layer.codes.begin(), layer.codes.end());
  return all;
}

}  // namespace kvedit::reference
