#pragma once

#include <string>
#include <string_view>

#include <kvedit/result.hpp>

namespace kvedit::report {

/// What the engine registered: shape, strides in elements, dtype; tensors with `between` between.
std::string registered(const Result& result, const LayerResult& layer, std::string_view between);
std::string views(const LayerResult& layer, std::string_view between);

/// Kernel pages, slots, bytes a block, padding left out, opaque, order.
std::string page_facts(const Result& result, const LayerResult& layer, const PageMap& pages);

/// What the consumer of the views reads, in one line; empty where the profile does not tell.
std::string read_back(const LayerResult& layer);

/// Nothing is wrong with the layer, and it is not served because something is elsewhere.
bool held_back(const Result& result, const LayerResult& layer);

/// The leaf spec and the registered cache of a layer; null when there is none.
const Spec* spec_of(const Result& result, const LayerResult& layer);
const Cache* cache_of(const Result& result, const LayerResult& layer);

}  // namespace kvedit::report
