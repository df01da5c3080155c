#pragma once

#include <string>
#include <vector>

#include <kvedit/registration.hpp>

#include "reference/dice.hpp"

namespace kvedit::property {

/// One layer of a group, before it is placed: its tensors lie in one storage of `span` elements'
/// bytes, from offset 0 on.
struct LayerLayout {
  std::string family;
  std::string layout;  ///< engine layout name the registration should have, or empty
  std::vector<Attribute> spec;
  std::string type;
  std::vector<Tensor> tensors;
  bool is_list = false;
  std::int64_t page = 0;
  std::int64_t block_step = 0;  ///< bytes from block to block, or 0 when the tensors differ
  bool inside = false;          ///< other layers can lie between its blocks
  bool placeable = false;       ///< moves by `block_step` from its lowest byte on
};

/// What all layers of a registration have in common.
struct Frame {
  std::int64_t blocks = 2;
  std::int64_t layers_inside = 1;  ///< layers that share each block of the arena
};

/// A layout in which each block is one page, in one of the shapes engines have, with axes, paddings
/// and dtypes of any size.
LayerLayout attention_layout(reference::Dice& dice, const Frame& frame);
LayerLayout recurrent_layout(reference::Dice& dice, const Frame& frame);

/// Bytes from the first to behind the last one the tensors reach.
std::int64_t span_of(const std::vector<Tensor>& tensors);

}  // namespace kvedit::property
