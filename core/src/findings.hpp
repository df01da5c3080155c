#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "model/edit.hpp"

namespace kvedit {

/// Collects what is wrong with layers: one problem for each group, class, code and severity,
/// which names the first layer and counts the others.
class Findings {
 public:
  void add(const LayerEntry& layer, std::string_view rule, const Failure& failure);

  std::vector<Problem> problems() const;

 private:
  struct Finding {
    std::string layer, rule;
    std::int32_t group;
    Failure failure;
    std::int64_t layers = 0;
  };

  std::vector<Finding> findings_;
  std::map<std::tuple<std::int32_t, std::int32_t, Code, Severity>, std::size_t> known_;
};

}  // namespace kvedit
