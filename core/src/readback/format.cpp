#include "readback/format.hpp"

#include <algorithm>
#include <array>

namespace kvedit::readback {
namespace {

constexpr std::array<std::string_view, 11> names = {
    "NL_X_NB_NH_BS_CS",         "NL_X_NB_BS_NH_CS",       "NL_X_TWO_NB_BS_NH_HS",
    "NL_X_TWO_NB_NH_BS_HS",     "NL_X_NB_TWO_BS_NH_HS",   "NL_X_NB_TWO_NH_BS_HS",
    "NL_X_TWO_NB_NH_ONE_BS_HS", "NL_X_NB_BS_HS",          "NL_X_NB_BSV_BSS",
    "NL_X_TWO_X_NB_BS_NH_HS",   "NL_X_NP_X_NB_BS_ONE_HS",
};

/// Where a format's tensor has its blocks, slots, heads and content.
struct AxesOf {
  std::size_t blocks, slots, heads, width;
};

constexpr std::array<AxesOf, 11> axes = {{{0, 2, 1, 3},
                                          {0, 1, 2, 3},
                                          {1, 2, 3, 4},
                                          {1, 3, 2, 4},
                                          {0, 2, 3, 4},
                                          {0, 3, 2, 4},
                                          {1, 4, 2, 5},
                                          {0, 1, 0, 2},
                                          {0, 1, 0, 2},
                                          {0, 1, 2, 3},
                                          {0, 1, 0, 3}}};

/// Rows of 128 values and one 4-byte scale.
bool blocked_indexer_row(const Entry& entry) {
  constexpr std::int64_t row = 132;
  return entry.dtypes[0].name == "uint8" && entry.tensors[0].shape.back() == row;
}

std::size_t head_axis(HeadOrder order) { return order == HeadOrder::heads_first ? 1 : 2; }

std::optional<Format> detect_tensor(const Entry& first, HeadOrder order) {
  const std::vector<std::int64_t>& shape = first.tensors[0].shape;
  const bool heads_first = order == HeadOrder::heads_first;
  switch (shape.size()) {
    case 3:
      return blocked_indexer_row(first) ? Format::blocked_indexer : Format::latent;
    case 4:
      if (shape[head_axis(order)] == 1 && blocked_indexer_row(first))
        return Format::blocked_indexer;
      return heads_first ? Format::packed_heads_first : Format::packed_tokens_first;
    case 5:
      if (shape[0] == 2)
        return heads_first ? Format::planes_heads_first : Format::planes_tokens_first;
      if (shape[1] == 2)
        return heads_first ? Format::halves_heads_first : Format::halves_tokens_first;
      return std::nullopt;
    case 6:
      if (shape[0] == 2 && shape[3] == 1) return Format::planes_heads_first_one;
      return std::nullopt;
    default:
      return std::nullopt;
  }
}

std::optional<Format> detect_list(const Entry& first) {
  constexpr std::size_t rank = 4;
  if (first.tensors[0].shape.size() != rank) return std::nullopt;
  const auto of_rank = [](const Dims& dims) { return dims.shape.size() >= rank - 1; };
  if (!std::all_of(first.tensors.begin(), first.tensors.end(), of_rank)) return std::nullopt;
  bool one_head = true, widths_differ = false;
  for (const Dims& dims : first.tensors) {
    one_head = one_head && dims.shape[2] == 1;
    widths_differ = widths_differ || dims.shape.back() != first.tensors[0].shape.back();
  }
  const std::size_t count = first.tensors.size();
  if (one_head && (count == 1 || count == 3 || widths_differ)) return Format::latent_tuple;
  return count == 2 ? std::optional(Format::key_value_tuple) : std::nullopt;
}

std::int64_t bytes_of_widths(const Entry& entry) {
  std::int64_t bytes = 0;
  for (std::size_t t = 0; t < entry.tensors.size(); ++t)
    bytes += entry.tensors[t].shape.back() * entry.dtypes[t].itemsize;
  return bytes;
}

}  // namespace

std::string_view to_text(Format format) { return names[static_cast<std::size_t>(format)]; }

std::optional<Format> detect(const Entry& first, HeadOrder order) {
  return first.list ? detect_list(first) : detect_tensor(first, order);
}

Geometry geometry(const Entry& entry, Format format, HeadOrder order) {
  std::vector<std::int64_t> shape = entry.tensors[0].shape;
  constexpr std::size_t with_head_axis = 4;
  if (format == Format::blocked_indexer && shape.size() == with_head_axis &&
      shape[head_axis(order)] == 1)
    shape.erase(shape.begin() + static_cast<std::ptrdiff_t>(head_axis(order)));
  const AxesOf& at = axes[static_cast<std::size_t>(format)];
  Geometry read;
  read.blocks = shape[at.blocks];
  read.slots = shape[at.slots];
  read.width = shape[at.width];
  if (at.heads != at.blocks) read.heads = shape[at.heads];
  if (format == Format::latent_tuple)
    read.width = bytes_of_widths(entry) / entry.dtypes[0].itemsize;
  const bool packed = keeps_stride(format);
  read.planes = packed ? 1 : 2;
  return read;
}

bool keeps_stride(Format format) {
  switch (format) {
    case Format::packed_heads_first:
    case Format::packed_tokens_first:
    case Format::latent:
    case Format::blocked_indexer:
    case Format::latent_tuple:
      return true;
    default:
      return false;
  }
}

OuterStep outer_step(const Entry& entry) {
  const Dims& dims = entry.tensors[0];
  std::int64_t inner = 1;
  for (std::size_t a = 1; a < dims.shape.size(); ++a) inner *= dims.shape[a];
  return {dims.stride[0], inner};
}

}  // namespace kvedit::readback
