#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "recipe.hpp"

namespace kvedit::property {

/// A tensor with the strides of its axes, all bytes.
struct Laid {
  const TensorRecipe* recipe = nullptr;
  std::int64_t start = 0;  ///< byte of its first element
  std::string storage;
  std::map<char, std::int64_t> extents, strides;
};

std::int64_t round_up(std::int64_t value, std::int64_t multiple);

DType dtype_of(const TensorRecipe& tensor);
std::int64_t item_of(const TensorRecipe& tensor);
bool has_axis(const TensorRecipe& tensor, char axis);
std::int64_t extent_of(const TensorRecipe& tensor, char axis, std::int64_t entries);

/// Bytes that an entry of the block axis shows.
std::int64_t content_of(const TensorRecipe& tensor);

/// Strides from inside out; an entry of the block axis takes at least `least` bytes.
void stride_axes(Laid& laid, std::int64_t entries, std::int64_t least);

/// Bytes from the start of an entry to the start of the next, where nothing lies between.
std::int64_t entry_span(const TensorRecipe& tensor);

/// The same of all entries, with what is outside the block axis.
std::int64_t region_of(const TensorRecipe& tensor, std::int64_t entries);

/// Byte behind the last one the tensor reaches.
std::int64_t end_of(const Laid& laid);

/// The bytes of one entry of the block axis, one state after the other.
void add_entry(const Laid& laid, std::int32_t storage, std::int64_t entry, reference::RunSet& to);

/// The numbers of a layer that do not depend on its place; all bytes.
struct Page {
  std::int64_t content = 0;  ///< that the tensors show of a block
  std::int64_t dense = 0;    ///< from the start of a block to behind its content
  std::int64_t page = 0;
  std::int64_t unpadded = 0;
  std::int64_t states = 0;      ///< number
  std::int64_t block_size = 0;  ///< tokens; below 1 when the recipe is impossible
  std::int64_t align = 1;       ///< of starts and strides
};

Page page_of(const LayerRecipe& layer);

}  // namespace kvedit::property
