#include "layouts.hpp"

#include <algorithm>
#include <utility>

namespace kvedit::property {
namespace {

using reference::Dice;

struct NamedAxis {
  char name;
  std::int64_t extent;
};

/// The tensor with the axes `logical`, lying in memory in the order `memory` (outermost first); one
/// index of the outermost axis takes at least `least` elements.
Tensor lay_out(const DType& dtype, const std::vector<NamedAxis>& axes, const std::string& logical,
               const std::string& memory, std::int64_t least = 0) {
  Tensor tensor;
  tensor.dtype = dtype;
  tensor.shape.resize(logical.size());
  tensor.stride.resize(logical.size());
  std::int64_t stride = 1;
  for (std::size_t i = memory.size(); i-- > 0;) {
    const auto axis = std::find_if(axes.begin(), axes.end(),
                                   [&](const NamedAxis& each) { return each.name == memory[i]; });
    if (i == 0) stride = std::max(stride, least);
    const std::size_t at = logical.find(memory[i]);
    tensor.shape[at] = axis->extent;
    tensor.stride[at] = stride;
    stride *= axis->extent;
  }
  return tensor;
}

DType some_dtype(Dice& dice) {
  const std::vector<const char*> names{"int8",     "uint8",   "float8_e4m3fn",
                                       "bfloat16", "float16", "float32"};
  return *find_dtype(dice.pick(names));
}

struct Shape {
  const char* family;
  const char* layout;
  const char* logical;
  const char* memory;
};

// b: entries of the block axis, k: kernel pages on an axis of their own, h heads, n tokens, c
// content, 2: K and V.
const std::vector<Shape>& shapes() {
  static const std::vector<Shape> all{
      {"packed heads first", "LBHNC", "bhnc", "bhnc"},
      {"packed tokens first", "LBNHC", "bhnc", "bnhc"},
      {"packed tokens first in shape", "NHD", "bnhc", "bnhc"},
      {"packed permuted", "HND", "bnhc", "bhnc"},
      {"split", "NHD", "b2nhc", "b2nhc"},
      {"split heads first", "HND", "b2hnc", "b2hnc"},
      {"split permuted", "HND", "b2nhc", "b2hnc"},
      {"split inside", "LBNHC", "b2nhc", "bn2hc"},
      {"planes", "NHD", "2bnhc", "2bnhc"},
      {"planes heads first", "HND", "2bnhc", "2bhnc"},
      {"planes inside", "NHD", "b2nhc", "2bnhc"},
      {"heads outside", "LHBNC", "bhnc", "hbnc"},
      {"heads outside", "BHLNC", "bhnc", "hbnc"},
      {"latent rank 3", "NHD", "bnc", "bnc"},
      {"latent rank 4", "LBHNC", "b1nc", "b1nc"},
      {"latent rank 4", "LBNHC", "bn1c", "bn1c"},
      {"grouped", "LBHNC", "bkhnc", "bkhnc"},
      {"grouped tokens first", "", "bkhnc", "bknhc"},
  };
  return all;
}

struct Sizes {
  std::int64_t k, heads, tokens, content;
};

Sizes some_sizes(Dice& dice) {
  return {dice.percent(50) ? 1 : dice.between(2, 5), dice.between(1, 4), dice.between(1, 5),
          dice.between(1, 6)};
}

/// Kind and class name that belong together; latent shapes are mostly MLA.
void name_kind(Dice& dice, LayerLayout& layer, bool latent) {
  const std::vector<std::pair<const char*, const char*>> dense{
      {"FullAttentionSpec", "full_attention"},
      {"FullAttentionSpec", "full_attention"},
      {"SlidingWindowSpec", "sliding_window"},
      {"ChunkedLocalAttentionSpec", "chunked_local_attention"},
      {"SinkFullAttentionSpec", "sink_full_attention"}};
  auto named = dice.pick(dense);
  if (latent && dice.percent(80)) named = {"MLAAttentionSpec", "mla_attention"};
  if (dice.percent(3)) named = {"SpecOfNobody", "unknown"};
  layer.type = named.first;
  layer.spec.push_back({"kind", Value::of(named.second)});
}

void say_page(LayerLayout& layer, std::int64_t block_size, std::int64_t page) {
  layer.page = page;
  layer.spec.push_back({"block_size", Value::of(block_size)});
  layer.spec.push_back({"page_size_bytes", Value::of(page)});
}

/// Tokens, heads and states as the engine would say them.
void say_states(Dice& dice, LayerLayout& layer, const Sizes& sizes) {
  std::int64_t block_size = sizes.k * sizes.tokens;
  if (dice.percent(15)) {
    block_size *= 4;
    layer.spec.push_back({"tokens_per_state", Value::of(std::int64_t{4})});
    if (dice.percent(50)) layer.spec.push_back({"num_states", Value::of(sizes.k * sizes.tokens)});
  } else if (dice.percent(50)) {
    layer.spec.push_back({"tokens_per_state", Value::of(std::int64_t{1})});
    layer.spec.push_back({"num_states", Value::of(block_size)});
  }
  layer.spec.push_back({"num_kv_heads", Value::of(sizes.heads)});
  say_page(layer, block_size, layer.page);
}

bool says(const LayerLayout& layer, const char* field) {
  return std::any_of(layer.spec.begin(), layer.spec.end(),
                     [&](const Attribute& each) { return each.name == field; });
}

/// The page of `content` bytes, perhaps padded; gives the bytes one entry takes.
std::int64_t pad_page(Dice& dice, LayerLayout& layer, std::int64_t content, std::int64_t item) {
  layer.page = content;
  if (!dice.percent(35)) {
    if (dice.percent(50)) layer.spec.push_back({"unpadded_page_size_bytes", Value::of(content)});
    return 0;
  }
  layer.page = (content / item + dice.between(1, 8)) * item;
  layer.spec.push_back({"page_size_padded", Value::of(layer.page)});
  if (dice.percent(60)) layer.spec.push_back({"unpadded_page_size_bytes", Value::of(content)});
  return layer.page;
}

/// Two tensors of a page, K and V, each `(b, n, h, c)`.
LayerLayout pair_layout(Dice& dice, const Frame& frame, const Sizes& sizes, const DType& dtype) {
  LayerLayout layer;
  layer.family = "pair";
  layer.is_list = true;
  name_kind(dice, layer, false);
  const std::int64_t item = dtype.itemsize;
  const std::int64_t half = sizes.k * sizes.heads * sizes.tokens * sizes.content * item;
  layer.page = 2 * half;
  if (dice.percent(40)) layer.spec.push_back({"unpadded_page_size_bytes", Value::of(2 * half)});
  const std::vector<NamedAxis> axes{
      {'b', frame.blocks * sizes.k}, {'n', sizes.tokens}, {'h', sizes.heads}, {'c', sizes.content}};
  const bool beside = sizes.k == 1 && dice.percent(50);  // both inside each page
  const Tensor one = lay_out(dtype, axes, "bnhc", dice.percent(50) ? "bnhc" : "bhnc",
                             beside ? 2 * half * frame.layers_inside / item : 0);
  layer.tensors = {one, one};
  layer.tensors[1].storage_offset = beside ? half / item : span_of({one}) / item;
  layer.block_step = beside ? 2 * half * frame.layers_inside : half;
  layer.inside = beside;
  layer.placeable = true;
  say_states(dice, layer, sizes);
  return layer;
}

}  // namespace

std::int64_t span_of(const std::vector<Tensor>& tensors) {
  std::int64_t end = 0;
  for (const Tensor& tensor : tensors) {
    std::int64_t last = tensor.storage_offset;
    for (std::size_t i = 0; i < tensor.shape.size(); ++i)
      last += (tensor.shape[i] - 1) * tensor.stride[i];
    end = std::max(end, (last + 1) * std::int64_t{tensor.dtype.itemsize});
  }
  return end;
}

LayerLayout attention_layout(Dice& dice, const Frame& frame) {
  Sizes sizes = some_sizes(dice);
  const DType dtype = some_dtype(dice);
  const std::int64_t item = dtype.itemsize;
  if (frame.layers_inside > 1) sizes.k = 1;
  if (dice.percent(8)) return pair_layout(dice, frame, sizes, dtype);
  const Shape& shape = dice.pick(shapes());
  const std::string memory = shape.memory;
  const bool grouped = memory.find('k') != std::string::npos;
  const bool latent = memory.find('h') == std::string::npos;
  const bool split = memory.find('2') != std::string::npos;
  if (latent) sizes.heads = 1;
  const std::int64_t content =
      (split ? 2 : 1) * sizes.k * sizes.heads * sizes.tokens * sizes.content * item;
  LayerLayout layer;
  layer.family = shape.family;
  layer.layout = shape.layout;
  name_kind(dice, layer, latent);

  const bool block_outermost = memory[0] == 'b';
  std::int64_t step = 0;  // least bytes of an entry of the block axis
  const std::int64_t entries = grouped ? 1 : sizes.k;
  if (block_outermost) {
    step = pad_page(dice, layer, content, item);
    step = std::max(step, layer.page) * frame.layers_inside;
    step = ((step + entries - 1) / entries + item - 1) / item * item;
  } else {
    layer.page = content;
    if (dice.percent(40)) layer.spec.push_back({"unpadded_page_size_bytes", Value::of(content)});
  }
  // Where padding hides how much an entry holds, only the number of entries tells `k`: no tail.
  const bool counted = layer.page != content && !says(layer, "unpadded_page_size_bytes");
  const std::int64_t tail =
      entries > 1 && !counted && dice.percent(15) ? dice.between(1, entries - 1) : 0;
  const std::vector<NamedAxis> axes{{'b', frame.blocks * entries + tail},
                                    {'k', sizes.k},
                                    {'2', 2},
                                    {'1', 1},
                                    {'h', sizes.heads},
                                    {'n', sizes.tokens},
                                    {'c', sizes.content}};
  layer.tensors = {lay_out(dtype, axes, shape.logical, memory, block_outermost ? step / item : 0)};
  const std::size_t at = std::string(shape.logical).find('b');
  layer.inside = block_outermost;
  layer.block_step = layer.tensors[0].stride[at] * item * entries;
  layer.placeable = true;
  say_states(dice, layer, sizes);
  return layer;
}

}  // namespace kvedit::property
