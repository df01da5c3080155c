#pragma once

#include <optional>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include "model/edit.hpp"
#include "readback/format.hpp"

namespace kvedit::readback {

/// What LMCache is handed for a layer: its views, or where it has none what is registered.
struct Handed {
  std::span<const ViewShape> views;
  std::vector<ViewShape> registered;  // behind `views` where the layer has none
  bool list = false;
  bool takes_lists = false;  // where its memory lies
  bool dense_only = false;   // whole pages are asked for, so through shared memory
};

Handed handed(const Edit& edit, std::size_t layer);

/// Whether the cache's memory is of a device where LMCache takes lists.
bool takes_lists_at(const Edit& edit, std::int32_t cache);

/// The layer as LMCache's detection sees it, or why LMCache refuses it before that: it wraps every
/// registered cache, also those it will not move.
std::variant<Entry, std::string> wrapped(const Handed& layer);

/// Shape and strides, as messages show them.
std::string shown(const ViewShape& view);

}  // namespace kvedit::readback
