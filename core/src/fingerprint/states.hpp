#pragma once

#include <optional>
#include <string>
#include <vector>

#include "model/edit.hpp"

namespace kvedit::fingerprint {

/// One recurrent state as its spec declares it.
struct State {
  std::string dtype;  // PyTorch's name
  std::vector<std::int64_t> shape;
  std::int64_t bytes = 0;
};

/// Of `shapes` and `dtypes`; nothing where the spec does not give both.
std::vector<State> states_of(const Spec& spec);

/// A registered tensor without its blocks, each axis for itself. Nothing when no axis of it moves
/// as its blocks do.
std::optional<Box> without_blocks(const LayerFacts& facts, std::uint32_t tensor,
                                  const std::vector<PartShape>& payload);

/// Whether a block stores the declared states one after the other, each in row-major order.
bool states_in_order(const LayerClass& of, const std::vector<State>& states);

}  // namespace kvedit::fingerprint
