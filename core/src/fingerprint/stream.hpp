#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "model/edit.hpp"

namespace kvedit::fingerprint {

/// An axis of a box, measured in the stored bytes of one block and not in memory.
struct StreamAxis {
  std::string_view role;
  std::int64_t extent = 1;
  std::int64_t stride = 0;  // stored bytes from index to index
  int first = 0, last = 0;  // which axes of that role it stands for, in their logical order
};

/// A box whose first byte is stored byte `at` of the block; axes from outside to inside. The last
/// one counts single bytes.
struct StreamBox {
  std::int64_t at = 0;
  std::vector<StreamAxis> axes;
};

/// Stored bytes of a block, from `at` on.
struct Run {
  std::int64_t at = 0;
  std::int64_t bytes = 0;
};

/// The bytes of a block in the order in which they are stored: part by part, range by range,
/// without the gaps between them.
class Stream {
 public:
  Stream(const LayerFacts& facts, const std::vector<PartShape>& payload);

  /// The box as it lies in the stream, kernel pages merged into the tokens they continue. Nothing
  /// when the stored bytes do not follow its axes.
  std::optional<StreamBox> place(const Box& box) const;

  /// The run that a box of unnamed axes fills in row-major order of these; nothing when it fills
  /// none, or in another order.
  std::optional<Run> run_of(const Box& box) const;

 private:
  struct Piece {
    std::size_t leader;  // first tensor of the layer in the same storage
    std::int64_t begin;  // bytes from the leader's first element
    std::int64_t length;
    std::int64_t at;
  };

  static bool before(const Piece& a, const Piece& b);

  std::optional<std::int64_t> position(std::size_t leader, Int128 address,
                                       std::int64_t length) const;
  std::int64_t address_of(std::uint32_t tensor, std::int64_t offset) const;
  bool follows(const Box& box, std::int64_t at) const;

  const LayerFacts& facts_;
  std::vector<Piece> pieces_;  // by place
};

}  // namespace kvedit::fingerprint
