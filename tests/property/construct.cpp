#include <algorithm>
#include <numeric>

#include "laid.hpp"
#include "recipe.hpp"

namespace kvedit::property {
namespace {

using reference::RunSet;

void say(std::vector<Attribute>& fields, const char* name, std::int64_t value) {
  fields.push_back({name, Value::of(value)});
}

void say_ratio(const LayerRecipe& layer, std::vector<Attribute>& fields) {
  const std::int64_t ratio = layer.tokens_per_state;
  if (ratio > 0) say(fields, "tokens_per_state", ratio);
  if (ratio < 0)
    fields.push_back(
        {"tokens_per_state", Value::of(std::string_view("1/" + std::to_string(-ratio)))});
}

void say_shapes(const LayerRecipe& layer, std::vector<Attribute>& fields) {
  std::vector<Value> shapes, dtypes;
  if (layer.state_bytes > 0) {
    shapes.push_back(Value::of(std::vector{Value::of(layer.state_bytes)}));
    dtypes.push_back(Value::of("uint8"));
  }
  for (const TensorRecipe& t : layer.tensors) {
    if (layer.state_bytes > 0) break;
    std::vector<Value> shape;
    for (const char axis : t.logical)
      if (axis != 'b') shape.push_back(Value::of(extent_of(t, axis, 1)));
    shapes.push_back(Value::of(std::move(shape)));
    dtypes.push_back(Value::of(std::string_view(t.dtype)));
  }
  fields.push_back({"shapes", Value::of(std::move(shapes))});
  fields.push_back({"dtypes", Value::of(std::move(dtypes))});
}

Spec spec_of(const GroupRecipe& group, const LayerRecipe& layer, const Page& page) {
  std::vector<Attribute> fields;
  if (!layer.kind.empty()) fields.push_back({"kind", Value::of(std::string_view(layer.kind))});
  say(fields, "block_size", page.block_size);
  say(fields, "page_size_bytes", page.page);
  if (layer.says_padded) say(fields, "page_size_padded", page.page);
  if (layer.means == Means::recurrent) {
    if (layer.says_unpadded) say_shapes(layer, fields);
    fields.push_back({"mamba_cache_mode", Value::of("align")});
  } else {
    if (layer.says_unpadded) say(fields, "unpadded_page_size_bytes", page.unpadded);
    say_ratio(layer, fields);
    if (layer.says_states) say(fields, "num_states", page.states);
    say(fields, "num_kv_heads", layer.tensors.front().h);
  }
  if (layer.scratch) fields.push_back({"prefix_cacheable", Value::of(false)});
  if (layer.hidden) fields.push_back({"has_layer_views", Value::of(false)});
  if (group.dcp_sharded) fields.push_back({"dcp_sharded", Value::of(*group.dcp_sharded)});
  return *make_spec(layer.type, {"KVCacheSpec"}, std::move(fields));
}

Spec empty_group_spec() {
  return *make_spec("FullAttentionSpec", {},
                    {{"block_size", Value::of(std::int64_t{16})},
                     {"page_size_bytes", Value::of(std::int64_t{64})}});
}

/// The spec of the group, and of its layers when it is a wrapper.
void say_specs(const GroupRecipe& recipe, const std::vector<Page>& pages, Group& group) {
  if (recipe.layers.empty()) {
    group.spec = empty_group_spec();
    return;
  }
  if (!recipe.wrapper) {
    group.spec = spec_of(recipe, recipe.layers.front(), pages.front());
    return;
  }
  std::int64_t sum = 0;
  for (std::size_t l = 0; l < pages.size(); ++l) {
    sum += pages[l].page;
    group.layer_specs.emplace(group.layers[l], spec_of(recipe, recipe.layers[l], pages[l]));
  }
  group.spec = *make_spec(
      "UniformTypeKVCacheSpecs", {"KVCacheSpec"},
      {{"block_size", Value::of(pages.front().block_size)}, {"page_size_bytes", Value::of(sum)}});
}

/// Where a layer lies.
struct Place {
  std::string storage;
  std::int64_t start = 0;
  std::int64_t step = 0;  // bytes from block to block
};

class Construction {
 public:
  explicit Construction(const Recipe& recipe) : recipe_(recipe) {}

  Drawn run() {
    drawn_.data.layout = recipe_.layout;
    drawn_.data.num_blocks = recipe_.blocks;
    drawn_.data.parallel.dcp = recipe_.dcp;
    for (std::size_t g = 0; g < recipe_.groups.size(); ++g) add_group(g);
    for (Storage& storage : drawn_.data.storages) storage.nbytes += recipe_.storage_tail;
    return std::move(drawn_);
  }

 private:
  static std::string name_of(std::size_t group, std::size_t layer) {
    return "layers." + std::to_string(group) + "." + std::to_string(layer);
  }

  std::int64_t blocks_of(const GroupRecipe& group) const {
    return group.blocks.value_or(recipe_.blocks);
  }

  void add_group(std::size_t g) {
    const GroupRecipe& recipe = recipe_.groups[g];
    Group group;
    group.enable_kv_transfer = recipe.transferred;
    group.host_resident = recipe.host_resident;
    group.num_blocks = recipe.blocks;
    std::vector<Page> pages;
    for (std::size_t l = 0; l < recipe.layers.size(); ++l) {
      group.layers.push_back(name_of(g, l));
      pages.push_back(page_of(recipe.layers[l]));
      if (pages.back().block_size < 1) drawn_.possible = false;
    }
    if (!drawn_.possible) return;
    say_specs(recipe, pages, group);
    drawn_.data.groups.push_back(std::move(group));
    if (!pages.empty()) place_layers(g, pages);
  }

  std::int64_t room_for(const GroupRecipe& group, const LayerRecipe& layer,
                        const Page& page) const {
    const std::int64_t entries = blocks_of(group) * layer.k + layer.tail;
    if (layer.lies == Lies::in_page) return entries * (step_of(group, layer, page) / layer.k);
    std::int64_t room = 0;
    for (const TensorRecipe& t : layer.tensors)
      room = round_up(room, item_of(t)) + region_of(t, entries);
    return room;
  }

  static std::int64_t step_of(const GroupRecipe& group, const LayerRecipe& layer,
                              const Page& page) {
    return layer.k * round_up(page.page / layer.k, std::lcm(page.align, group.align));
  }

  void place_layers(std::size_t g, const std::vector<Page>& pages) {
    const GroupRecipe& group = recipe_.groups[g];
    std::int64_t align = 1, each_block = group.gap;
    for (const Page& page : pages) align = std::lcm(align, page.align);
    for (const Page& page : pages) each_block += round_up(page.page, align);
    each_block = round_up(each_block, std::lcm(align, group.align));
    const std::int64_t lead = round_up(group.lead, align);
    std::int64_t next = lead;
    std::vector<Place> placements;
    for (std::size_t l = 0; l < pages.size(); ++l) {
      const LayerRecipe& layer = group.layers[l];
      Place place{"arena", next, step_of(group, layer, pages[l])};
      if (group.arena == Arena::apart)
        place = {"own." + std::to_string(g) + "." + std::to_string(l), lead, place.step};
      if (group.arena == Arena::in_each_block) {
        place.step = each_block;
        next += round_up(pages[l].page, align);
      } else {
        next = round_up(next + room_for(group, layer, pages[l]) + group.gap, align);
      }
      placements.push_back({place.storage, place.start, lay_layer(g, l, pages[l], place)});
    }
    if (group.placed) add_placements(g, placements);
  }

  void add_placements(std::size_t g, const std::vector<Place>& at) {
    const std::vector<std::string>& names = drawn_.data.groups[g].layers;
    bool even = at.size() > 1;  // one placement for all, where their distance is one number
    for (std::size_t l = 1; l < at.size(); ++l)
      even = even && at[l].storage == at[0].storage && at[l].step == at[0].step &&
             at[l].start - at[l - 1].start == at[1].start - at[0].start;
    if (even) {
      drawn_.data.placements.push_back(
          {at[0].storage, names, at[0].start, at[1].start - at[0].start, at[0].step});
      return;
    }
    for (std::size_t l = 0; l < at.size(); ++l)
      drawn_.data.placements.push_back({at[l].storage, {names[l]}, at[l].start, 0, at[l].step});
  }

  /// Gives the bytes from block to block of its first tensor.
  std::int64_t lay_layer(std::size_t g, std::size_t l, const Page& page, const Place& place) {
    const LayerRecipe& layer = recipe_.groups[g].layers[l];
    const std::int64_t entries = blocks_of(recipe_.groups[g]) * layer.k + layer.tail;
    const bool in_page = layer.lies == Lies::in_page;
    std::vector<Laid> laid;
    std::int64_t at = place.start;
    for (const TensorRecipe& tensor : layer.tensors) {
      Laid one{&tensor, 0, place.storage, {}, {}};
      if (layer.lies == Lies::in_storages && !laid.empty()) {
        one.storage = name_of(g, l) + "." + std::to_string(laid.size());
        at = 0;
      }
      one.start = at = round_up(at, item_of(tensor));
      stride_axes(one, entries, in_page ? place.step / layer.k : 0);
      at += in_page ? entry_span(tensor) : region_of(tensor, entries);
      laid.push_back(std::move(one));
    }
    register_cache(g, l, laid);
    know(g, l, page, place, laid);
    return laid.front().strides.at('b') * layer.k;
  }

  void register_cache(std::size_t g, std::size_t l, const std::vector<Laid>& laid) {
    Cache cache{name_of(g, l), {}, recipe_.groups[g].layers[l].list};
    for (const Laid& one : laid) {
      const DType dtype = dtype_of(*one.recipe);
      const std::int64_t item = dtype.itemsize;
      Tensor tensor{dtype, {}, {}, one.start / item, one.storage};
      for (const char axis : one.recipe->logical) {
        tensor.shape.push_back(one.extents.at(axis));
        tensor.stride.push_back(one.strides.at(axis) / item);
        if (one.strides.at(axis) % item != 0) drawn_.possible = false;
      }
      storage(one.storage, end_of(one));
      cache.tensors.push_back(std::move(tensor));
    }
    drawn_.data.caches.push_back(std::move(cache));
  }

  /// Its number; it reaches to `end` at least.
  std::int32_t storage(const std::string& name, std::int64_t end) {
    std::vector<Storage>& all = drawn_.data.storages;
    auto found = std::find_if(all.begin(), all.end(),
                              [&](const Storage& each) { return each.name == name; });
    if (found == all.end()) found = all.insert(found, {name, 0, "cuda:0"});
    found->nbytes = std::max(found->nbytes, end);
    return static_cast<std::int32_t>(found - all.begin());
  }

  void know(std::size_t g, std::size_t l, const Page& page, const Place& place,
            const std::vector<Laid>& laid) {
    const GroupRecipe& group = recipe_.groups[g];
    const LayerRecipe& layer = group.layers[l];
    KnownLayer& known = drawn_.layers.emplace_back();
    known.name = name_of(g, l);
    if (!group.transferred) known.excluded = "not-transferred";
    if (group.transferred && layer.hidden) known.excluded = "no-layer-view";
    known.blocks = blocks_of(group);
    know_numbers(group, layer, page, known);
    known.window = layer.lies == Lies::in_page;
    for (std::int64_t block = 0; block < known.blocks; ++block)
      know_block(layer, page, place, laid, block, known);
    const bool alone = unique(known.blocks, laid);
    const bool placed = group.placed && known.blocks > 1;
    if (known.excluded.empty()) drawn_.unique = drawn_.unique && (placed || alone);
  }

  void know_numbers(const GroupRecipe& group, const LayerRecipe& layer, const Page& page,
                    KnownLayer& known) const {
    const bool recurrent = layer.means == Means::recurrent;
    const LayerRecipe& first = group.layers.front();
    // The engine shards attention over its ranks unless told otherwise, and never states.
    const bool sharded =
        group.dcp_sharded.value_or((group.wrapper ? first : layer).means != Means::recurrent);
    known.tokens = page.block_size * (sharded ? recipe_.dcp : 1);
    known.scratch = layer.scratch;
    known.kernel_pages = {layer.k};
    const TensorRecipe& t = layer.tensors.front();
    if (has_axis(t, 'j')) known.kernel_pages.push_back(t.j);
    if (known.blocks == 1) known.kernel_pages.clear();  // any axis may be read as its entries
    known.slots = {page.states};
    if (recurrent) known.slots = {1, page.block_size};
    known.needs_rule = layer.k > 1;
    if (layer.type == "SpecOfNobody" || layer.type == "EncoderOnlyAttentionSpec")
      known.no_rule = "of a kind that no rule knows";
    if (!layer.engine_order) known.no_rule = "axes in no engine's order";
  }

  void know_block(const LayerRecipe& layer, const Page& page, const Place& place,
                  const std::vector<Laid>& laid, std::int64_t block, KnownLayer& known) {
    RunSet raw;
    for (const Laid& one : laid)
      for (std::int64_t entry = block * layer.k; entry < (block + 1) * layer.k; ++entry)
        add_entry(one, storage(one.storage, 0), entry, raw);
    if (unite(raw)) drawn_.possible = false;
    if (!known.window) {
      known.owned.push_back(raw);
      known.payload.push_back(std::move(raw));
      return;
    }
    const std::int64_t start = place.start + block * place.step;
    const std::int32_t number = storage(place.storage, start + page.page);
    known.owned.push_back({{number, start, start + page.page}});
    known.payload.push_back(payload_of(layer, page, number, start, std::move(raw)));
  }

  /// The spec says how many bytes from the start on count; else those that the tensors show.
  static RunSet payload_of(const LayerRecipe& layer, const Page& page, std::int32_t storage,
                           std::int64_t start, RunSet raw) {
    std::int64_t said = layer.says_unpadded ? page.unpadded : page.page;
    if (layer.means == Means::recurrent && !layer.says_unpadded) return raw;
    const RunSet first{{storage, start, start + said}};
    const bool covers = layer.tensors.size() == 1 && contains(raw, first);
    return contains(first, raw) || covers ? first : raw;
  }

  /// No other axis can carry the blocks, whether they are placed or not: there are more of them
  /// than entries anywhere else, or they are outermost where nothing else may be.
  bool unique(std::int64_t blocks, const std::vector<Laid>& laid) const {
    if (blocks < 2) return false;
    bool more = true, outermost = recipe_.layout != "LHBNC" && recipe_.layout != "BHLNC";
    for (const Laid& one : laid) {
      outermost = outermost && one.recipe->memory[0] == 'b' &&
                  (blocks > 2 || one.recipe->logical.size() != 5);
      for (const auto& [axis, extent] : one.extents)
        more = more && (axis == 'b' || extent < blocks);
    }
    return more || outermost;
  }

  const Recipe& recipe_;
  Drawn drawn_;
};

}  // namespace

Drawn construct(const Recipe& recipe) { return Construction(recipe).run(); }

}  // namespace kvedit::property
