#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include <kvedit/result.hpp>

#include "facts.hpp"
#include "plain_reading.hpp"
#include "runs.hpp"

namespace kvedit::verify {

/// What each block of a layer must be, and where it comes from.
struct LayerTruth {
  LayerFacts facts;
  std::optional<PlainReading> plain;  ///< nothing for an order that the rule declared
  /// In an order that is the same for every block.
  std::function<Runs(std::int64_t block)> payload;
  /// A set.
  std::function<Runs(std::int64_t block)> owned;
  std::string
      fault;  ///< why there is no truth to hold the layer against; then nothing above is set
};

/// @pre layer.pages()
LayerTruth truth_of(const Facts& facts, const LayerResult& layer);

}  // namespace kvedit::verify
