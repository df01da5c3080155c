#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <kvedit/registration.hpp>

#include "reference/run_set.hpp"

namespace kvedit::property {

/// One registered tensor of a layer. Axes are letters: `b` entries of the block axis, `j` kernel
/// pages on an axis of their own, `2` K and V, `h` heads, `n` tokens or states, `c` content, `1` an
/// axis of one.
struct TensorRecipe {
  std::string logical;  ///< the axes in the order of the shape
  std::string memory;   ///< the same letters, outermost in memory first
  std::int64_t j = 1, h = 1, n = 1, c = 1;
  std::string dtype = "int8";
  std::uint32_t itemsize = 0;  ///< of a dtype that kvedit does not know
  std::int64_t row_gap = 0;    ///< elements between one `c` and the next thing
};

enum class Means { attention, recurrent };

/// How the bytes of a block lie to each other.
enum class Lies {
  in_page,      ///< one behind the other in one page, whatever else lies between pages
  in_regions,   ///< each tensor, or what is outside its block axis, in a region of all blocks
  in_storages,  ///< each tensor in an allocation of its own
};

struct LayerRecipe {
  Means means = Means::attention;
  Lies lies = Lies::in_page;
  std::vector<TensorRecipe> tensors;
  bool list = false;
  std::int64_t k = 1;          ///< entries of the block axis that make one block
  std::int64_t tail = 0;       ///< entries behind the last block; below `k`
  std::int64_t pad = 0;        ///< bytes behind the content of each kernel page
  std::int64_t scales = 0;     ///< bytes of payload behind the registered axes
  bool says_padded = false;    ///< `page_size_padded`
  bool says_unpadded = false;  ///< `unpadded_page_size_bytes`, or the states' shapes
  std::string type = "FullAttentionSpec";
  std::string kind;                   ///< empty: follows from the type
  std::int64_t tokens_per_state = 0;  ///< 0: not said; negative: so many states for each token
  bool says_states = false;           ///< `num_states`
  std::int64_t block_size = 1;        ///< recurrent; else it follows from the states
  std::int64_t state_bytes = 0;       ///< of a row that shows more than its states
  bool engine_order = true;           ///< its axes stand in an order that some engine has
  bool scratch = false, hidden = false;
};

/// Where the layers of a group lie to each other.
enum class Arena { apart, one_behind_the_other, in_each_block };

struct GroupRecipe {
  std::vector<LayerRecipe> layers;
  Arena arena = Arena::apart;
  bool wrapper = false;  ///< each layer has a leaf of its own
  bool placed = false;
  std::int64_t lead = 0;   ///< bytes before the first layer
  std::int64_t gap = 0;    ///< bytes between layers, or foreign bytes in each block
  std::int64_t align = 1;  ///< block strides are multiples of it
  std::optional<std::int64_t> blocks;
  std::optional<bool> dcp_sharded;
  bool transferred = true, host_resident = false;
};

struct Recipe {
  std::string layout;
  std::int64_t blocks = 2;
  std::int64_t dcp = 1;
  std::int64_t storage_tail = 0;  ///< bytes behind the last one that anybody owns
  std::vector<GroupRecipe> groups;
};

/// What is right for a layer, known because its bytes were laid out one state at a time.
struct KnownLayer {
  std::string name;
  std::string excluded;  ///< the reason, or empty
  std::int64_t blocks = 0, tokens = 0;
  std::vector<std::int64_t> kernel_pages;  ///< any of these
  std::vector<std::int64_t> slots;         ///< any of these
  bool scratch = false;
  bool needs_rule = false;  ///< several entries make a block
  std::string no_rule;      ///< why no honest rule could know this layout, or empty
  bool window = false;      ///< each block owns one run of a page
  std::vector<reference::RunSet> payload, owned;  ///< by block
};

struct Drawn {
  RegistrationData data;
  std::vector<KnownLayer> layers;
  /// No other axis can carry the blocks: a placement, or more blocks than any other axis has
  /// entries.
  bool unique = true;
  bool possible = true;  ///< false: no registration can be made of the recipe
};

/// A recipe of a legal registration. The same number gives the same recipe everywhere.
Recipe draw(std::uint64_t seed);

/// Lays a recipe out.
Drawn construct(const Recipe& recipe);

/// Whether some engine has an attention cache with its axes in this order.
bool some_engine_has(const TensorRecipe& tensor);

/// In a line: the shapes and what is special about them.
std::string story_of(const Recipe& recipe);

/// Every recipe that is one step simpler, the largest steps first.
std::vector<Recipe> simpler(const Recipe& recipe);

}  // namespace kvedit::property
