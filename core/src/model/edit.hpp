#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <kvedit/result.hpp>

#include "model/layer_facts.hpp"
#include "model/plan.hpp"
#include "model/rule.hpp"

namespace kvedit {

/// A `Part` before it is placed: `offset` counts from the first element of a registered tensor.
struct PartShape {
  std::uint32_t tensor = 0;
  std::int64_t offset = 0;  // bytes
  std::int64_t block_stride = 0;
  std::vector<Range> ranges;

  bool operator==(const PartShape&) const = default;
};

/// A `View` before it is placed.
struct ViewShape {
  DType dtype;
  std::vector<std::int64_t> shape;
  std::vector<std::int64_t> stride;  // elements
  std::uint32_t tensor = 0;
  std::int64_t offset = 0;  // bytes from the first element of the tensor
  std::uint32_t block_axis = 0;
  std::vector<Role> axes;
};

/// From where to where the bytes that all blocks own in one part reach, from the first element of a
/// registered tensor.
struct Reach {
  std::uint32_t tensor = 0;
  std::int64_t begin = 0;
  std::int64_t end = 0;
};

/// What is proved of a class of layers.
struct ProvedPage {
  std::vector<Box>
      boxes;  // block axis split: `num_blocks` entries, and a kernel_page axis if k > 1
  std::int64_t blocks = 0;
  std::int64_t kernel_pages = 1;
  std::int64_t block_bytes = 0;  // payload
  bool window = false;           // owns [start, start + page) of one storage
  bool declared = false;
  std::vector<PartShape> payload;
  std::vector<PartShape> owned;
  std::vector<Reach> reaches;  // of `owned`
};

/// Why a class of layers could not be proved or shown; `layer`, `group` are filled in by the host.
struct Failure {
  Code code = Code::bad_geometry;
  std::string message;
  std::vector<Fact> facts;
  Severity severity = Severity::error;
};

struct RuleAsked {
  std::uint32_t rule = 0;  // index into the book
  Verdict verdict = Verdict::no_match;
  std::string reason;
};

/// Layers with equal facts.
struct LayerClass {
  LayerFacts facts;
  std::vector<std::int64_t> spans;  // of its tensors, from first byte to one behind the last
  std::vector<RuleAsked> tried;
  std::int32_t rule = -1;  // the one that claimed it
  Plan plan;
  std::optional<Failure> failure;
  std::optional<Failure> doubt;  // a warning
  std::optional<ProvedPage> page;
  std::vector<ViewShape> views;
  std::int64_t slots = 1;
  std::int64_t tokens = 0;
  bool opaque = false;
  std::int64_t layers = 0;
};

struct LayerEntry {
  std::string_view name;
  std::int32_t group = -1;
  std::int32_t cache = -1;
  std::int32_t layer_class = -1;
  Outcome outcome = Outcome::failed;
  std::uint32_t first_part = 0;
  std::int32_t reason = -1;  // index into the edit's `reasons`; few layers have one
};

struct Edit {
  Edit(Registration r, EditOptions o, std::shared_ptr<const RuleBook> b)
      : registration(std::move(r)), options(o), book(std::move(b)) {}

  Registration registration;
  EditOptions options;
  std::shared_ptr<const RuleBook> book;
  bool ok = false;
  std::vector<Problem> problems;
  std::vector<GroupResult> groups;
  std::optional<std::int64_t> chunk_tokens;
  std::vector<LayerClass> classes;
  std::vector<LayerEntry> layers;
  std::vector<std::string> reasons;                 // why layers are excluded
  std::vector<Part> parts;                          // payload of all served layers
  std::vector<std::optional<ReadBack>> read_backs;  // of layers, where the profile has them
};

/// Where a shape of a class lies for one of its layers.
Part place(const Edit& edit, const LayerEntry& entry, const PartShape& shape);

}  // namespace kvedit
