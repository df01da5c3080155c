#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include <kvedit/error.hpp>
#include <kvedit/export.hpp>
#include <kvedit/result.hpp>

namespace kvedit {

/// A run of bytes in memory.
struct Extent {
  std::uint64_t address = 0;
  std::uint64_t length = 0;  ///< bytes
  std::int32_t storage = 0;  ///< index into the registration's storages

  bool operator==(const Extent&) const = default;
};

/// In which order the bytes of several layers and blocks follow each other. The order depends only
/// on the layers and the number of block ids, never on the ids: what was stored under some ids can
/// be brought back under others.
enum class Order : std::uint32_t {
  layer_major,  ///< layer, part, block, range
  block_major,  ///< block, layer, part, range
};

/// Turns block ids into addresses for chosen layers of one group. Immutable; any thread.
class KVEDIT_API AddressMap {
 public:
  /// @param layers  indices into `result`; served layers of one group
  /// @param bases   address of byte 0 of each storage of the registration, in their order; empty:
  ///                addresses are offsets into the storage
  /// Errors: the result is not ok, a layer has no pages, layers of two groups, a missing base.
  static Expected<AddressMap> make(const Result& result, std::span<const std::size_t> layers,
                                   std::span<const std::uint64_t> bases = {},
                                   Order order = Order::layer_major);

  /// Bytes of one block over all chosen layers.
  std::int64_t block_bytes() const { return block_bytes_; }
  /// How many extents `write` gives at most for so many blocks.
  std::size_t capacity(std::size_t block_ids) const { return block_ids * ranges_.size(); }

  /// Writes the extents of the blocks to `out` and gives their number; neighbours in order that
  /// also touch in the same storage are one extent. Allocates nothing.
  /// Errors: a block id below 0 or not below the group's number of blocks; `out` smaller than
  /// `capacity`.
  Expected<std::size_t> write(std::span<const std::int64_t> block_ids, std::span<Extent> out) const;

  /// The same into a vector.
  Expected<std::vector<Extent>> extents(std::span<const std::int64_t> block_ids) const;

 private:
  struct Stream {
    std::uint64_t address;
    std::uint64_t length;
    std::int64_t block_stride;
    std::int32_t storage;
    std::uint32_t part;  ///< streams of one number follow each other block by block
  };

  void add_part(const Part& part, std::uint32_t number, std::span<const std::uint64_t> bases);

  std::vector<Stream> ranges_;
  std::int64_t blocks_ = 0;
  std::int64_t block_bytes_ = 0;
  Order order_ = Order::layer_major;
};

}  // namespace kvedit
