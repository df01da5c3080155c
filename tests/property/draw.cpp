#include <algorithm>

#include "laid.hpp"
#include "recipe.hpp"
#include "reference/dice.hpp"

namespace kvedit::property {
namespace {

using reference::Dice;

struct Form {
  const char* logical;
  const char* memory;
};

// Orders that engines have or had.
const std::vector<Form>& dense_forms() {
  static const std::vector<Form> all{
      {"bhnc", "bhnc"},   {"bhnc", "bnhc"},   {"bnhc", "bnhc"},   {"bnhc", "bhnc"},
      {"b2nhc", "b2nhc"}, {"b2nhc", "b2hnc"}, {"b2hnc", "b2hnc"}, {"b2nhc", "bn2hc"},
      {"b2hnc", "bh2nc"}, {"2bnhc", "2bnhc"}, {"2bnhc", "2bhnc"}, {"2bhnc", "2bhnc"},
      {"b2nhc", "2bnhc"}, {"b2hnc", "2bhnc"}, {"2bnc", "2bnc"},   {"bhnc", "hbnc"},
      {"2bnhc", "b2nhc"}, {"bjhnc", "bjhnc"}, {"bjhnc", "bjnhc"}, {"bj2nhc", "bj2nhc"},
      {"bhnc", "nbhc"},   {"bnc", "bnc"},
  };
  return all;
}

const std::vector<Form>& latent_forms() {
  static const std::vector<Form> all{
      {"bnc", "bnc"}, {"b1nc", "b1nc"}, {"bn1c", "bn1c"}, {"bjnc", "bjnc"}};
  return all;
}

std::string shuffled(Dice& dice, const std::string& axes) {
  std::vector<char> letters(axes.begin(), axes.end());
  dice.shuffle(letters);
  return {letters.begin(), letters.end()};
}

class Drawing {
 public:
  explicit Drawing(std::uint64_t seed) : dice_(seed) {}

  Recipe draw() {
    const std::vector<const char*> layouts{"",      "",      "HND",   "NHD",   "LBHNC",
                                           "LBNHC", "LHBNC", "BLHNC", "BLNHC", "BHLNC"};
    recipe_.layout = dice_.pick(layouts);
    if (dice_.percent(15)) recipe_.dcp = dice_.between(2, 4);
    if (dice_.percent(30)) recipe_.storage_tail = dice_.between(1, 64);
    const std::int64_t groups = dice_.percent(60) ? 1 : dice_.between(2, 3);
    for (std::int64_t g = 0; g < groups; ++g) add_group();
    if (dice_.percent(4)) recipe_.groups.insert(recipe_.groups.begin(), GroupRecipe{});
    count_blocks();
    return std::move(recipe_);
  }

 private:
  void add_group() {
    GroupRecipe& group = recipe_.groups.emplace_back();
    group.arena = static_cast<Arena>(dice_.between(0, 2));
    group.wrapper = dice_.percent(20);
    group.transferred = !dice_.percent(4);
    group.host_resident = dice_.percent(5);
    group.placed = dice_.percent(50);
    if (dice_.percent(10)) group.dcp_sharded = dice_.percent(50);
    if (dice_.percent(25)) group.lead = dice_.between(1, 100);
    if (dice_.percent(5)) group.lead = std::int64_t{1} << dice_.between(31, 45);
    if (dice_.percent(25)) group.gap = dice_.between(1, 40);
    if (dice_.percent(20)) group.align = std::int64_t{1} << dice_.between(2, 5);
    if (dice_.percent(3)) group.align = std::int64_t{1} << 33;
    const LayerRecipe layer = dice_.percent(30) ? recurrent() : attention();
    for (std::int64_t l = dice_.between(1, 3); l > 0; --l) {
      group.layers.push_back(layer);
      if (group.wrapper) vary(group.layers.back());
      if (group.wrapper && dice_.percent(5)) group.layers.back().hidden = true;
    }
    settle(group);
  }

  /// Makes what was drawn fit together.
  void settle(GroupRecipe& group) {
    bool many_entries = false, in_page = true;
    for (const LayerRecipe& layer : group.layers) {
      many_entries = many_entries || layer.k > 1;
      in_page = in_page && layer.lies == Lies::in_page;
    }
    if (group.arena == Arena::in_each_block && (many_entries || !in_page))
      group.arena = Arena::one_behind_the_other;
    if (many_entries || !in_page) group.align = 1;  // kernel pages follow each other
    for (const LayerRecipe& layer : group.layers) group.placed = group.placed && placeable(layer);
    for (LayerRecipe& layer : group.layers) settle(layer, group.placed);
  }

  /// One number moves all its tensors from block to block.
  static bool placeable(const LayerRecipe& layer) {
    if (layer.lies == Lies::in_page) return true;
    if (layer.lies == Lies::in_storages) return false;
    for (const TensorRecipe& t : layer.tensors)
      if (entry_span(t) != entry_span(layer.tensors.front())) return false;
    return true;
  }

  static void settle(LayerRecipe& layer, bool placed) {
    if (!layer.says_padded) {  // then the page is its content
      layer.pad = layer.scales = 0;
      for (TensorRecipe& t : layer.tensors)
        if (layer.lies == Lies::in_page) t.row_gap = 0;
    }
    if (layer.scales > 0 && !placed) layer.says_unpadded = false;
    // Where padding hides how much an entry holds, only their number tells how many make a block.
    const bool counted =
        layer.means == Means::recurrent || (layer.says_padded && !layer.says_unpadded);
    if (counted && !placed) layer.tail = 0;
    if (layer.k == 1) layer.tail = 0;
  }

  void name_kind(LayerRecipe& layer, bool latent) {
    struct Named {
      const char* type;
      const char* kind;
    };
    const std::vector<Named> dense{
        {"FullAttentionSpec", ""},     {"FullAttentionSpec", "full_attention"},
        {"SlidingWindowSpec", ""},     {"ChunkedLocalAttentionSpec", ""},
        {"SinkFullAttentionSpec", ""}, {"SpecOfAnotherEngine", "full_attention"}};
    const std::vector<Named> latents{
        {"MLAAttentionSpec", ""}, {"SlidingWindowMLASpec", ""}, {"IndexerSpec", "mla_attention"}};
    Named named = latent && dice_.percent(85) ? dice_.pick(latents) : dice_.pick(dense);
    if (dice_.percent(4)) named = {"SpecOfNobody", ""};
    if (dice_.percent(3)) named = {"EncoderOnlyAttentionSpec", ""};
    layer.type = named.type;
    layer.kind = named.kind;
  }

  void size(TensorRecipe& t) {
    t.h = dice_.between(1, 4);
    t.n = dice_.between(1, 5);
    t.c = dice_.between(1, 6);
    t.j = dice_.between(2, 4);
    name_dtype(t);
  }

  void name_dtype(TensorRecipe& t) {
    const std::vector<const char*> names{
        "int8",    "uint8",   "uint8",   "float8_e4m3fn",    "float8_e5m2", "bfloat16",
        "float16", "float32", "float64", "float4_e2m1fn_x2", "bool",        "complex64"};
    t.dtype = dice_.pick(names);
    if (!dice_.percent(6)) return;
    t.dtype = "packed_by_nobody";
    t.itemsize = static_cast<std::uint32_t>(dice_.between(1, 7));
  }

  LayerRecipe attention() {
    LayerRecipe layer;
    const bool latent = dice_.percent(25);
    name_kind(layer, latent);
    if (dice_.percent(45)) layer.k = dice_.between(2, 5);
    TensorRecipe t;
    size(t);
    const Form& form = dice_.pick(latent ? latent_forms() : dense_forms());
    t.logical = form.logical;
    t.memory = form.memory;
    if (dice_.percent(20)) {
      layer.engine_order = false;
      t.logical = shuffled(dice_, t.logical);
      t.memory = shuffled(dice_, t.logical);
    }
    if (has_axis(t, 'j')) layer.k = 1;
    if (!has_axis(t, 'h')) t.h = 1;
    layer.tensors = {t};
    layer.lies = t.memory[0] == 'b' ? Lies::in_page : Lies::in_regions;
    if (!latent && dice_.percent(12)) several(layer);
    pad(layer);
    say_states(layer);
    if (layer.k > 1 && dice_.percent(20)) layer.tail = dice_.between(1, layer.k - 1);
    layer.scratch = dice_.percent(5);
    return layer;
  }

  /// K and V apart, sometimes with scales of their own.
  void several(LayerRecipe& layer) {
    TensorRecipe t = layer.tensors.front();
    t.logical = dice_.percent(50) ? "bnhc" : "bhnc";
    t.memory = dice_.percent(50) ? "bnhc" : "bhnc";
    layer.engine_order = true;
    t.h = std::max<std::int64_t>(t.h, 1);
    layer.list = true;
    layer.tensors = {t, t};
    if (dice_.percent(40)) layer.tensors[1].c = dice_.between(1, 6);
    if (dice_.percent(20)) {
      TensorRecipe scale = t;
      scale.c = 1;
      layer.tensors.push_back(scale);
    }
    const std::int64_t lies = dice_.between(0, 2);
    layer.lies = static_cast<Lies>(lies);
    if (layer.lies == Lies::in_page) layer.k = 1;
  }

  void pad(LayerRecipe& layer) {
    layer.says_unpadded = dice_.percent(50);
    if (layer.lies != Lies::in_page) return;
    layer.says_padded = dice_.percent(40);
    if (!layer.says_padded) return;
    if (dice_.percent(80)) layer.pad = dice_.between(0, 24);
    if (dice_.percent(15)) layer.scales = dice_.between(1, 8);
    if (dice_.percent(15)) layer.tensors.front().row_gap = dice_.between(1, 3);
  }

  void say_states(LayerRecipe& layer) {
    if (dice_.percent(60)) layer.tokens_per_state = 1;
    if (dice_.percent(15)) layer.tokens_per_state = dice_.between(2, 5);
    if (dice_.percent(8)) layer.tokens_per_state = -dice_.between(2, 4);
    if (page_of(layer).block_size < 1) layer.tokens_per_state = 1;
    layer.says_states = dice_.percent(50);
  }

  LayerRecipe recurrent() {
    LayerRecipe layer;
    layer.means = Means::recurrent;
    layer.type = "MambaSpec";
    layer.block_size = dice_.between(1, 12);
    layer.says_unpadded = dice_.percent(85);
    layer.scratch = dice_.percent(5);
    if (dice_.percent(55)) {
      row(layer);
      return layer;
    }
    layer.list = true;
    const std::vector<Form> forms{{"bc", "bc"}, {"bnc", "bnc"}, {"bhnc", "bhnc"}};
    for (std::int64_t states = dice_.between(1, 4); states > 0; --states) {
      TensorRecipe& t = layer.tensors.emplace_back();
      const Form& form = dice_.pick(forms);
      t.logical = form.logical;
      t.memory = form.memory;
      size(t);
      while (t.itemsize != 0) t.itemsize = 0, name_dtype(t);  // states have names that we know
    }
    std::stable_sort(layer.tensors.begin(), layer.tensors.end(),
                     [](const auto& a, const auto& b) { return item_of(a) > item_of(b); });
    const std::int64_t lies = dice_.between(0, 9);
    layer.lies = lies == 0 ? Lies::in_storages : lies == 1 ? Lies::in_regions : Lies::in_page;
    const Page page = page_of(layer);
    layer.says_padded = page.content % page.align != 0 || dice_.percent(60);
    if (layer.lies == Lies::in_page && layer.says_padded) layer.pad = dice_.between(0, 40);
    return layer;
  }

  void row(LayerRecipe& layer) {
    TensorRecipe t;
    t.logical = t.memory = dice_.percent(60) ? "bhnc" : "bc";
    t.c = dice_.between(1, 120);
    layer.says_padded = dice_.percent(70);
    if (layer.says_padded) layer.pad = dice_.between(0, 40);
    if (layer.says_padded && dice_.percent(30)) {
      layer.state_bytes = t.c;
      t.c += layer.pad;
      layer.pad = 0;
    }
    layer.tensors = {t};
  }

  /// Another leaf of the same wrapper.
  void vary(LayerRecipe& layer) {
    if (layer.means == Means::recurrent && layer.state_bytes > 0) return;
    for (TensorRecipe& t : layer.tensors)
      if (dice_.percent(50)) t.c = dice_.between(1, 6);
    if (layer.means == Means::recurrent) {
      const Page page = page_of(layer);
      layer.says_padded = layer.says_padded || page.content % page.align != 0;
    }
  }

  void count_blocks() {
    std::int64_t most = 1;
    for (const GroupRecipe& group : recipe_.groups) most = std::max(most, longest(group));
    const bool more = dice_.percent(90);
    recipe_.blocks = more ? most + dice_.between(1, 3) : dice_.between(1, 6);
    for (GroupRecipe& group : recipe_.groups) {
      if (group.placed && dice_.percent(50)) group.blocks = dice_.between(2, 6);
      if (!group.placed && dice_.percent(20))
        group.blocks = more ? longest(group) + dice_.between(1, 5) : dice_.between(1, 6);
    }
    if (more) return;
    for (GroupRecipe& group : recipe_.groups)  // a count of one hides what is between entries
      if (group.blocks.value_or(recipe_.blocks) < 2) group.placed = false;
  }

  /// Entries of the longest axis that carries no blocks.
  static std::int64_t longest(const GroupRecipe& group) {
    std::int64_t most = 1;
    for (const LayerRecipe& layer : group.layers)
      for (const TensorRecipe& t : layer.tensors)
        for (const char axis : t.logical)
          if (axis != 'b') most = std::max(most, extent_of(t, axis, 0));
    return most;
  }

  Dice dice_;
  Recipe recipe_;
};

}  // namespace

bool some_engine_has(const TensorRecipe& tensor) {
  const auto same = [&](const Form& form) {
    return tensor.logical == form.logical && tensor.memory == form.memory;
  };
  return std::any_of(dense_forms().begin(), dense_forms().end(), same) ||
         std::any_of(latent_forms().begin(), latent_forms().end(), same);
}

Recipe draw(std::uint64_t seed) { return Drawing(seed).draw(); }

}  // namespace kvedit::property
