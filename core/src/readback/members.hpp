#pragma once

#include <cstddef>
#include <list>
#include <optional>
#include <span>
#include <vector>

#include "model/edit.hpp"
#include "readback/format.hpp"
#include "readback/problems.hpp"

namespace kvedit::readback {

/// What LMCache gets of layers that are shown alike: their views, or what is registered where a
/// layer is excluded because it is another layer's cache.
struct Look {
  const LayerClass* of = nullptr;
  std::span<const ViewShape> views;
  std::vector<ViewShape> registered;  // behind `views` of an excluded layer
  Entry entry;
  std::optional<Format> format;
  Geometry read;
};

/// A layer of a group.
struct Member {
  std::size_t layer = 0;
  const Look* look = nullptr;
};

/// The layers of a group that can be read, in order of registration; the others become problems.
struct Members {
  std::list<Look> looks;  // what members point to
  std::vector<Member> layers;
};

Members members_of(const Edit& edit, std::size_t group, HeadOrder order, Problems& problems);

}  // namespace kvedit::readback
