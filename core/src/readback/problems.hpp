#pragma once

#include <string>
#include <vector>

#include "model/edit.hpp"

namespace kvedit::readback {

/// One problem for each group, class of equal layers and rule: names the first layer and counts the
/// others.
class Problems {
 public:
  explicit Problems(Edit& edit) : edit_(edit) {}

  /// A fault of the whole registration.
  void of_all(std::string message, std::vector<Fact> facts);
  /// A fault of a group.
  void of_group(Severity severity, std::int32_t group, std::string message,
                std::vector<Fact> facts);
  /// A fault of one layer of a group; equal ones of a class are counted.
  void of_layer(Severity severity, std::size_t layer, std::string message, std::vector<Fact> facts);

  /// How often anything was reported.
  std::size_t reported() const { return reported_; }

  /// Layers that an error names, and all of a group that one names, are `failed` from here on; who
  /// is excluded stays so.
  std::vector<Problem> take() &&;

 private:
  struct Found {
    Problem problem;
    std::int32_t layer_class = -1;
    std::int64_t layers = 0;
    std::string message;
  };

  void fail_group(std::int32_t group);

  Edit& edit_;
  std::vector<Found> found_;
  std::vector<std::size_t> failed_;  // layers
  std::size_t reported_ = 0;
};

}  // namespace kvedit::readback
