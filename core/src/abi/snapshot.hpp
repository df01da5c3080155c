#pragma once

#include <kvedit/rule_abi.h>

#include <cstdint>
#include <vector>

#include "model/layer_facts.hpp"

namespace kvedit {

/// A layer as rules see it. Texts and extents are those of the registration, which must outlive it.
class Snapshot {
 public:
  explicit Snapshot(const LayerFacts& facts);
  Snapshot(const Snapshot&) = delete;
  Snapshot& operator=(const Snapshot&) = delete;

  const kvedit_layer& layer() const { return layer_; }

 private:
  void add_spec(const Spec& spec);
  void add_tensors(std::span<const Tensor> tensors);
  void show(const Value& value, kvedit_value& out);

  kvedit_layer layer_{};
  std::vector<kvedit_text> bases_;
  std::vector<kvedit_attribute> attributes_;
  std::vector<kvedit_value> items_;  // of all lists; never grows beyond what was reserved
  std::vector<kvedit_tensor> tensors_;
  std::vector<std::int64_t> strides_;  // bytes, of all tensors
};

/// Made once for these facts, which keep it.
const kvedit_layer& snapshot(const LayerFacts& facts);

}  // namespace kvedit
