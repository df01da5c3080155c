#pragma once

#include <cstdint>
#include <vector>

#include "model/edit.hpp"
#include "readback/format.hpp"
#include "readback/problems.hpp"

namespace kvedit::readback {

/// A layer of a group as LMCache gets it: its views, or what is registered where it is excluded
/// because it is another layer's cache.
struct Member {
  std::size_t layer = 0;
  const LayerClass* of = nullptr;
  std::vector<ViewShape> views;
  Entry entry;
  Format format = Format::latent;
  Geometry read;
};

/// The layers of a group that can be read, in order of registration; the others become problems.
std::vector<Member> members_of(const Edit& edit, std::size_t group, HeadOrder order,
                               Problems& problems);

}  // namespace kvedit::readback
