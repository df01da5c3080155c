#include "laid.hpp"

#include <algorithm>
#include <numeric>

namespace kvedit::property {

std::int64_t round_up(std::int64_t value, std::int64_t multiple) {
  return (value + multiple - 1) / multiple * multiple;
}

DType dtype_of(const TensorRecipe& tensor) {
  return tensor.itemsize != 0 ? opaque_dtype(tensor.dtype, tensor.itemsize)
                              : *find_dtype(tensor.dtype);
}

std::int64_t item_of(const TensorRecipe& tensor) {
  return tensor.itemsize != 0 ? tensor.itemsize : find_dtype(tensor.dtype)->itemsize;
}

bool has_axis(const TensorRecipe& tensor, char axis) {
  return tensor.logical.find(axis) != std::string::npos;
}

std::int64_t extent_of(const TensorRecipe& tensor, char axis, std::int64_t entries) {
  switch (axis) {
    case 'b':
      return entries;
    case 'j':
      return tensor.j;
    case '2':
      return 2;
    case 'h':
      return tensor.h;
    case 'n':
      return tensor.n;
    case 'c':
      return tensor.c;
    default:
      return 1;
  }
}

std::int64_t content_of(const TensorRecipe& tensor) {
  std::int64_t bytes = item_of(tensor);
  for (const char axis : tensor.logical) bytes *= extent_of(tensor, axis, 1);
  return bytes;
}

void stride_axes(Laid& laid, std::int64_t entries, std::int64_t least) {
  const TensorRecipe& tensor = *laid.recipe;
  std::int64_t bytes = item_of(tensor);
  for (std::size_t i = tensor.memory.size(); i-- > 0;) {
    const char axis = tensor.memory[i];
    if (axis == 'b') bytes = std::max(bytes, least);
    laid.extents[axis] = extent_of(tensor, axis, entries);
    laid.strides[axis] = bytes;
    bytes *= laid.extents[axis];
    if (axis == 'c') bytes += tensor.row_gap * item_of(tensor);
  }
}

std::int64_t entry_span(const TensorRecipe& tensor) {
  Laid laid;
  laid.recipe = &tensor;
  stride_axes(laid, 1, 0);
  return laid.strides.at('b');
}

std::int64_t region_of(const TensorRecipe& tensor, std::int64_t entries) {
  Laid laid;
  laid.recipe = &tensor;
  stride_axes(laid, entries, 0);
  const char outermost = tensor.memory[0];
  return laid.strides.at(outermost) * laid.extents.at(outermost);
}

std::int64_t end_of(const Laid& laid) {
  std::int64_t end = laid.start + item_of(*laid.recipe);
  for (const auto& [axis, extent] : laid.extents) end += (extent - 1) * laid.strides.at(axis);
  return end;
}

namespace {

/// Goes on with the last run where it can.
void add_run(std::int32_t storage, std::int64_t at, std::int64_t bytes, reference::RunSet& to) {
  if (!to.empty() && to.back().storage == storage && to.back().end == at)
    to.back().end += bytes;
  else
    to.push_back({storage, at, at + bytes});
}

}  // namespace

void add_entry(const Laid& laid, std::int32_t storage, std::int64_t entry, reference::RunSet& to) {
  const TensorRecipe& t = *laid.recipe;
  struct Axis {
    std::int64_t extent, stride;
  };
  const auto axis = [&](char name) {
    return has_axis(t, name) ? Axis{extent_of(t, name, 1), laid.strides.at(name)} : Axis{1, 0};
  };
  const std::int64_t item = item_of(t);
  const Axis pages = axis('j'), planes = axis('2'), heads = axis('h'), states = axis('n');
  const Axis content = axis('c');
  const bool rows = content.stride == item;  // the content of a head lies side by side
  const std::int64_t cells = rows ? 1 : content.extent;
  const std::int64_t bytes = rows ? content.extent * item : item;
  const std::int64_t first = laid.start + entry * laid.strides.at('b');
  for (std::int64_t page = 0; page < pages.extent; ++page)
    for (std::int64_t plane = 0; plane < planes.extent; ++plane)
      for (std::int64_t head = 0; head < heads.extent; ++head)
        for (std::int64_t state = 0; state < states.extent; ++state)
          for (std::int64_t cell = 0; cell < cells; ++cell)
            add_run(storage,
                    first + page * pages.stride + plane * planes.stride + head * heads.stride +
                        state * states.stride + cell * content.stride,
                    bytes, to);
}

namespace {

std::int64_t states_of(const LayerRecipe& layer) {
  const TensorRecipe& t = layer.tensors.front();
  return layer.k * (has_axis(t, 'n') ? t.n : 1) * (has_axis(t, 'j') ? t.j : 1);
}

std::int64_t block_size_of(const LayerRecipe& layer) {
  if (layer.means == Means::recurrent) return layer.block_size;
  const std::int64_t ratio = layer.tokens_per_state;
  const std::int64_t states = states_of(layer);
  if (ratio < 0) return states % -ratio == 0 ? states / -ratio : 0;
  return states * std::max<std::int64_t>(ratio, 1);
}

}  // namespace

Page page_of(const LayerRecipe& layer) {
  Page page;
  for (const TensorRecipe& t : layer.tensors) {
    page.align = std::lcm(page.align, item_of(t));
    page.content += layer.k * content_of(t);
    page.dense += layer.k * entry_span(t);
  }
  page.unpadded = layer.state_bytes > 0 ? layer.state_bytes : page.content + layer.k * layer.scales;
  page.page = page.content;
  if (layer.lies == Lies::in_page) {
    const std::int64_t used = page.dense / layer.k + layer.scales + layer.pad;
    page.page = layer.says_padded ? layer.k * round_up(used, page.align) : layer.k * used;
  }
  page.states = states_of(layer);
  page.block_size = block_size_of(layer);
  return page;
}

}  // namespace kvedit::property
