#pragma once

#include <string>

#include <kvedit/export.hpp>
#include <kvedit/result.hpp>

namespace kvedit {

struct TextOptions {
  bool colours = false;
};

/// The report for people: problems, groups, classes of equal layers, the smallest chunk.
KVEDIT_API std::string explain(const Result& result, const TextOptions& options = {});

/// Everything about one layer, with the rules that were asked and what they answered.
KVEDIT_API std::string explain_layer(const Result& result, const LayerResult& layer,
                                     const TextOptions& options = {});

}  // namespace kvedit
