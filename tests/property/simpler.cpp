#include <algorithm>

#include "recipe.hpp"

namespace kvedit::property {
namespace {

/// Collects recipes that differ from one in a single place.
class Simpler {
 public:
  explicit Simpler(const Recipe& recipe) : recipe_(recipe) {}

  std::vector<Recipe> all() {
    for (std::size_t g = 0; g < recipe_.groups.size(); ++g)
      if (recipe_.groups.size() > 1)
        add([&](Recipe& r) { r.groups.erase(r.groups.begin() + static_cast<std::ptrdiff_t>(g)); });
    for (std::size_t g = 0; g < recipe_.groups.size(); ++g) group(g);
    number([](Recipe& r) -> std::int64_t& { return r.blocks; }, 2);
    number([](Recipe& r) -> std::int64_t& { return r.dcp; }, 1);
    number([](Recipe& r) -> std::int64_t& { return r.storage_tail; }, 0);
    if (!recipe_.layout.empty()) add([](Recipe& r) { r.layout.clear(); });
    return std::move(found_);
  }

 private:
  template <class Change>
  void add(Change change) {
    change(found_.emplace_back(recipe_));
  }

  /// The least it can be, then half of it, then one less.
  template <class Get>
  void number(Get get, std::int64_t least) {
    Recipe now = recipe_;
    const std::int64_t value = get(now);
    if (value <= least) return;
    for (const std::int64_t next : {least, value / 2, value - 1})
      if (next >= least && next < value) add([&](Recipe& r) { get(r) = next; });
  }

  template <class Get>
  void flag(Get get, bool simple) {
    Recipe now = recipe_;
    if (get(now) != simple) add([&](Recipe& r) { get(r) = simple; });
  }

  void group(std::size_t g) {
    const auto of = [g](Recipe& r) -> GroupRecipe& { return r.groups[g]; };
    const GroupRecipe& now = recipe_.groups[g];
    for (std::size_t l = 0; l < now.layers.size() && now.layers.size() > 1; ++l)
      add([&](Recipe& r) {
        of(r).layers.erase(of(r).layers.begin() + static_cast<std::ptrdiff_t>(l));
      });
    if (now.arena != Arena::apart) add([&](Recipe& r) { of(r).arena = Arena::apart; });
    if (now.blocks) add([&](Recipe& r) { of(r).blocks.reset(); });
    if (now.dcp_sharded) add([&](Recipe& r) { of(r).dcp_sharded.reset(); });
    flag([&](Recipe& r) -> bool& { return of(r).placed; }, false);
    flag([&](Recipe& r) -> bool& { return of(r).transferred; }, true);
    flag([&](Recipe& r) -> bool& { return of(r).host_resident; }, false);
    if (now.wrapper && now.layers.size() == 1) add([&](Recipe& r) { of(r).wrapper = false; });
    number([&](Recipe& r) -> std::int64_t& { return of(r).lead; }, 0);
    number([&](Recipe& r) -> std::int64_t& { return of(r).gap; }, 0);
    number([&](Recipe& r) -> std::int64_t& { return of(r).align; }, 1);
    if (now.wrapper) {
      for (std::size_t l = 0; l < now.layers.size(); ++l) layers(g, l, l + 1);
    } else if (!now.layers.empty()) {
      layers(g, 0, now.layers.size());  // one spec for all
    }
  }

  /// Changes layers `from` to below `to` of a group alike.
  void layers(std::size_t g, std::size_t from, std::size_t to) {
    const auto each = [=](auto change) {
      return [=](Recipe& r) {
        for (std::size_t l = from; l < to; ++l) change(r.groups[g].layers[l]);
      };
    };
    const LayerRecipe& now = recipe_.groups[g].layers[from];
    const auto number_of = [&](std::int64_t LayerRecipe::*field, std::int64_t least) {
      for (const std::int64_t next : {least, now.*field / 2, now.*field - 1})
        if (next >= least && next < now.*field)
          add(each([=](LayerRecipe& layer) { layer.*field = next; }));
    };
    number_of(&LayerRecipe::k, 1);
    number_of(&LayerRecipe::tail, 0);
    number_of(&LayerRecipe::pad, 0);
    number_of(&LayerRecipe::scales, 0);
    number_of(&LayerRecipe::block_size, 1);
    number_of(&LayerRecipe::tokens_per_state, 0);
    for (bool LayerRecipe::*const field :
         {&LayerRecipe::says_padded, &LayerRecipe::says_unpadded, &LayerRecipe::says_states,
          &LayerRecipe::scratch, &LayerRecipe::hidden})
      if (now.*field) add(each([=](LayerRecipe& layer) { layer.*field = false; }));
    for (std::size_t t = 0; t < now.tensors.size(); ++t) {
      if (now.tensors.size() > 1)
        add(each([=](LayerRecipe& layer) {
          layer.tensors.erase(layer.tensors.begin() + static_cast<std::ptrdiff_t>(t));
        }));
      tensors(each, now.tensors[t], t);
    }
  }

  template <class Each>
  void tensors(Each each, const TensorRecipe& now, std::size_t t) {
    for (std::int64_t TensorRecipe::*const field :
         {&TensorRecipe::j, &TensorRecipe::h, &TensorRecipe::n, &TensorRecipe::c}) {
      for (const std::int64_t next : {std::int64_t{1}, now.*field / 2, now.*field - 1})
        if (next >= 1 && next < now.*field)
          add(each([=](LayerRecipe& layer) { layer.tensors[t].*field = next; }));
    }
    if (now.row_gap > 0) add(each([=](LayerRecipe& layer) { layer.tensors[t].row_gap = 0; }));
    if (now.dtype != "int8")
      add(each([=](LayerRecipe& layer) {
        layer.tensors[t].dtype = "int8";
        layer.tensors[t].itemsize = 0;
      }));
    for (const char axis : {'1', 'h', 'n', 'j', '2'}) {  // an axis less
      const std::size_t logical = now.logical.find(axis), memory = now.memory.find(axis);
      if (logical == std::string::npos) continue;
      add(each([=](LayerRecipe& layer) {
        layer.tensors[t].logical.erase(logical, 1);
        layer.tensors[t].memory.erase(memory, 1);
        layer.engine_order = layer.engine_order && some_engine_has(layer.tensors[t]);
      }));
    }
  }

  const Recipe& recipe_;
  std::vector<Recipe> found_;
};

}  // namespace

std::vector<Recipe> simpler(const Recipe& recipe) { return Simpler(recipe).all(); }

std::string story_of(const Recipe& recipe) {
  std::string story;
  for (const GroupRecipe& group : recipe.groups) {
    story += story.empty() ? "" : "; ";
    story += std::to_string(group.layers.size()) + " x";
    if (group.layers.empty()) continue;
    for (const TensorRecipe& t : group.layers.front().tensors)
      story += " " + t.logical + " as " + t.memory + " of " + t.dtype;
    if (group.layers.front().k > 1)
      story += ", " + std::to_string(group.layers.front().k) + " entries a block";
    if (group.placed) story += ", placed";
    if (group.wrapper) story += ", wrapper";
    if (group.arena == Arena::in_each_block) story += ", layers inside";
  }
  return story;
}

}  // namespace kvedit::property
