#include <algorithm>

#include "layouts.hpp"

namespace kvedit::property {
namespace {

using reference::Dice;

struct State {
  std::vector<std::int64_t> shape;
  DType dtype;
  std::int64_t bytes = 0;
};

std::vector<State> some_states(Dice& dice) {
  const std::vector<const char*> names{"bfloat16", "float32", "bfloat16", "int8"};
  std::vector<State> states(static_cast<std::size_t>(dice.between(1, 3)));
  for (State& state : states) {
    state.dtype = *find_dtype(dice.pick(names));
    state.bytes = state.dtype.itemsize;
    for (std::int64_t rank = dice.between(1, 3); rank > 0; --rank) {
      state.shape.push_back(dice.between(1, 6));
      state.bytes *= state.shape.back();
    }
  }
  return states;
}

void say_states(LayerLayout& layer, const std::vector<State>& states) {
  std::vector<Value> shapes;
  std::vector<Value> dtypes;
  for (const State& state : states) {
    std::vector<Value> shape;
    for (const std::int64_t extent : state.shape) shape.push_back(Value::of(extent));
    shapes.push_back(Value::of(std::move(shape)));
    dtypes.push_back(Value::of(std::string_view(state.dtype.name)));
  }
  layer.spec.push_back({"shapes", Value::of(std::move(shapes))});
  layer.spec.push_back({"dtypes", Value::of(std::move(dtypes))});
}

/// `(blocks, …shape)` with so many elements from block to block.
Tensor state_tensor(const State& state, std::int64_t blocks, std::int64_t step) {
  Tensor tensor;
  tensor.dtype = state.dtype;
  tensor.shape.push_back(blocks);
  tensor.stride.push_back(step);
  std::int64_t stride = state.bytes / state.dtype.itemsize;
  for (const std::int64_t extent : state.shape) {
    stride /= extent;
    tensor.shape.push_back(extent);
    tensor.stride.push_back(stride);
  }
  return tensor;
}

std::int64_t round_up(std::int64_t value, std::int64_t multiple) {
  return (value + multiple - 1) / multiple * multiple;
}

/// One row a block, of the states or of the whole page.
void lay_row(Dice& dice, const Frame& frame, LayerLayout& layer, std::int64_t state_bytes) {
  const std::int64_t row = dice.percent(30) ? layer.page : state_bytes;
  const std::int64_t step = layer.page * frame.layers_inside;
  Tensor tensor;
  tensor.dtype = *find_dtype("int8");
  if (dice.percent(70)) {
    tensor.shape = {frame.blocks, 1, 1, row};
    tensor.stride = {step, row, row, 1};
  } else {
    tensor.shape = {frame.blocks, row};
    tensor.stride = {step, 1};
  }
  layer.family = "row";
  layer.tensors = {tensor};
  layer.block_step = step;
  layer.inside = true;
  layer.placeable = true;
}

/// A tensor for each state, one behind the other in each page.
bool lay_list(const Frame& frame, LayerLayout& layer, const std::vector<State>& states) {
  const std::int64_t step = layer.page * frame.layers_inside;
  std::int64_t offset = 0;
  for (const State& state : states) {
    const std::int64_t item = state.dtype.itemsize;
    if (offset % item != 0 || step % item != 0) return false;
    layer.tensors.push_back(state_tensor(state, frame.blocks, step / item));
    layer.tensors.back().storage_offset = offset / item;
    offset += state.bytes;
  }
  layer.family = "list in a page";
  layer.block_step = step;
  layer.inside = true;
  layer.placeable = true;
  return true;
}

/// Every state in a region of its own.
void lay_regions(const Frame& frame, LayerLayout& layer, const std::vector<State>& states) {
  std::int64_t offset = 0;
  layer.tensors.clear();
  for (const State& state : states) {
    const std::int64_t item = state.dtype.itemsize;
    offset = round_up(offset, item);
    layer.tensors.push_back(state_tensor(state, frame.blocks, state.bytes / item));
    layer.tensors.back().storage_offset = offset / item;
    offset += state.bytes * frame.blocks;
  }
  layer.family = "list in regions";
  layer.block_step = 0;
  layer.placeable = false;
}

}  // namespace

LayerLayout recurrent_layout(Dice& dice, const Frame& frame) {
  LayerLayout layer;
  layer.type = "MambaSpec";
  layer.spec.push_back({"kind", Value::of("mamba")});
  const std::vector<State> states = some_states(dice);
  std::int64_t state_bytes = 0;
  for (const State& state : states) state_bytes += state.bytes;
  layer.page = dice.percent(70) ? round_up(state_bytes + dice.between(0, 24), 4) : state_bytes;
  if (layer.page != state_bytes || dice.percent(50))
    layer.spec.push_back({"page_size_padded", Value::of(layer.page)});
  if (dice.percent(90)) say_states(layer, states);
  layer.spec.push_back({"mamba_cache_mode", Value::of(dice.percent(70) ? "align" : "all")});
  layer.spec.push_back({"block_size", Value::of(dice.between(1, 12))});
  layer.spec.push_back({"page_size_bytes", Value::of(layer.page)});
  layer.is_list = true;
  const std::int64_t form = dice.between(1, 10);
  if (form == 1 && frame.layers_inside == 1)
    lay_regions(frame, layer, states);
  else if (form > 5 || !lay_list(frame, layer, states)) {
    layer.tensors.clear();
    layer.is_list = false;
    lay_row(dice, frame, layer, state_bytes);
  }
  return layer;
}

}  // namespace kvedit::property
