#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include <kvedit/dtype.hpp>

#include "model/head_order.hpp"
#include "readback/recover.hpp"

namespace kvedit::readback {

/// What a connector hands LMCache for one layer: one tensor, or a list of them.
struct Entry {
  std::vector<Dims> tensors;
  std::vector<DType> dtypes;
  bool list = false;
};

/// The memory formats that LMCache 0.5.6 detects for vLLM, one tensor or list a layer.
enum class Format {
  packed_heads_first,
  packed_tokens_first,
  planes_tokens_first,
  planes_heads_first,
  halves_tokens_first,
  halves_heads_first,
  planes_heads_first_one,
  latent,
  blocked_indexer,
  key_value_tuple,
  latent_tuple,
};

/// LMCache's own name.
std::string_view to_text(Format format);

/// The format of layers of equal shapes and dtypes, from the first of them; nothing when LMCache
/// knows none. `order` is not `outermost`.
std::optional<Format> detect(const Entry& first, HeadOrder order);

/// What LMCache takes a layer for in a format; elements.
struct Geometry {
  std::int64_t planes = 1;  // 2: K and V apart
  std::int64_t blocks = 0;
  std::int64_t slots = 0;
  std::int64_t heads = 1;
  std::int64_t width = 0;  // of one head; K beside V where they are packed
};

Geometry geometry(const Entry& entry, Format format, HeadOrder order);

/// Whether the format keeps the stride of its outermost axis; others must have none to keep.
bool keeps_stride(Format format);

/// One entry of the outermost axis of the layer's first tensor, with and without gaps; elements.
struct OuterStep {
  std::int64_t stride = 0, tight = 0;
};

OuterStep outer_step(const Entry& entry);

}  // namespace kvedit::readback
