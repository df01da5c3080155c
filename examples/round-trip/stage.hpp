#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include <kvedit/result.hpp>

#include "registered_memory.hpp"

/// Block ids whose bytes are stored, and the other ids under which they come back.
struct Move {
  std::vector<std::int64_t> from;
  std::vector<std::int64_t> to;
};

/// A few blocks, some of them neighbours; empty when the group has a single block.
Move choose_blocks(std::int64_t blocks);

/// The blocks of one group that take part in a move and their neighbours, painted so that every byte
/// tells its layer, block and place; padding, and 4 KiB around them, too.
class Stage {
 public:
  Stage(const kvedit::Result& result, const RegisteredMemory& memory,
        std::vector<std::size_t> layers, Move move);

  const std::vector<std::size_t>& layers() const { return layers_; }
  const Move& move() const { return move_; }

  void paint() const;
  std::int64_t payload_bytes() const;
  /// Payload bytes of the `to` blocks that are those of the `from` blocks.
  std::int64_t count_right() const;
  /// Whether all other bytes are as painted: neighbours, padding, and what lies between. The `from`
  /// blocks have their payload wiped.
  bool rest_untouched() const;

 private:
  struct Window {
    std::size_t storage;
    std::size_t begin;
    std::size_t end;
  };

  void find_windows();
  void merge_windows();
  std::vector<std::int64_t> touched() const;
  std::vector<std::byte> painted() const;
  std::span<std::byte> in(std::vector<std::byte>& copy, std::size_t storage, std::size_t offset,
                          std::size_t length) const;
  template <class Visit>
  void each_range(std::span<const kvedit::Part> parts, std::int64_t block, const Visit& visit) const;

  const kvedit::Result& result_;
  const RegisteredMemory& memory_;
  std::vector<std::size_t> layers_;
  Move move_;
  std::vector<Window> windows_;  // by storage and offset, apart
  std::vector<std::size_t> window_at_;  // where each begins in a copy of all
};
