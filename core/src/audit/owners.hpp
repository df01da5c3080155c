#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/field.hpp"
#include "model/edit.hpp"

namespace kvedit::audit {

/// From where to where a layer owns bytes of a storage, over all its blocks.
struct Span {
  std::int32_t storage;
  std::int64_t begin;
  std::int64_t end;
  std::size_t layer;       // index into the edit's layers
  std::int64_t stride;     // from block to block
  std::int64_t first_end;  // one behind the last byte of block 0
};

/// Of proved layers, by storage and first byte.
std::vector<Span> spans_of(const Edit& edit, std::span<const std::size_t> layers);

/// The spans from the first on that lie in one storage and overlap, each with one before it.
std::span<const Span> first_cluster(std::span<const Span> spans);

/// What a layer owns in one storage.
struct Owner {
  std::size_t layer;
  std::int32_t storage;
  Field field;
};

/// Of the layers of a cluster, in its storage.
std::vector<Owner> owners_of(const Edit& edit, std::span<const Span> cluster);
std::vector<Field> fields_of(std::span<const Owner> owners);

}  // namespace kvedit::audit
