#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <kvedit/addresses.hpp>
#include <kvedit/error.hpp>
#include <kvedit/result.hpp>

/// Tries a result out with real bytes. Sees of kvedit what any program sees, its public headers,
/// and judges by the registration alone: docs/architecture.md, "Verify".
namespace kvedit::verify {

/// What is put to the test. Tests put in wrong answers.
struct Answers {
  /// Where the blocks of these layers of one group lie, as `AddressMap` says it.
  std::function<Expected<std::vector<Extent>>(std::span<const std::size_t> layers,
                                              std::span<const std::int64_t> block_ids,
                                              std::span<const std::uint64_t> bases, Order order)>
      addresses;
  std::function<std::vector<View>(const LayerResult& layer)> views;

  /// Those of a result, which must live as long.
  static Answers of(const Result& result);
};

struct Options {
  std::optional<std::int32_t> group;  ///< only this one; index
  std::optional<std::string> layer;   ///< only this one
  std::optional<std::size_t> blocks;  ///< ids moved for each group; nothing: 4, fewer if large
  std::uint64_t seed = 1;
  /// Told how many of how many steps are done.
  std::function<void(std::size_t done, std::size_t of)> progress;
};

/// A connector that takes entry *b* of the first axis of each registered tensor for block *b*.
struct NaiveReading {
  bool is_block = false;          ///< it is right: one entry is one block
  bool tried = false;             ///< moved with real bytes, as the page map was
  std::int64_t entries = 0;       ///< of the first axis of the first tensor
  std::int64_t entry_bytes = 0;   ///< of all tensors
  std::int64_t copied_bytes = 0;  ///< when tried: of the moved blocks
  std::int64_t right_bytes = 0;   ///< of those blocks' payload, what came back right
};

struct LayerCheck {
  std::size_t layer = 0;  ///< index into the result
  bool moved = false;     ///< false: excluded, or not asked for
  /// Judged by the registered tensors; else (an order that the rule declared) by the page map's
  /// parts and the views.
  bool by_tensors = false;
  std::int64_t blocks = 0;         ///< moved
  std::int64_t payload_bytes = 0;  ///< of these blocks
  std::int64_t right_bytes =
      0;  ///< of them, came back right through the page map; least of all runs
  std::int64_t right_in_views = 0;   ///< the same through the views
  std::int64_t untouched_bytes = 0;  ///< padding of moved blocks, and their neighbours: compared
  std::int64_t damaged_bytes = 0;    ///< of these, changed; most of all runs
  NaiveReading naive;
  std::vector<std::string> faults;

  bool ok() const { return faults.empty(); }
};

struct GroupMove {
  std::int32_t group = 0;
  std::vector<std::int64_t> from;
  std::vector<std::int64_t> to;
};

/// All groups at once, each under ids that no other group has.
struct Together {
  bool tried = false;
  std::vector<GroupMove> moves;
  std::int64_t shared_bytes =
      0;  ///< of blocks of different groups under different ids; then not tried
};

struct Report {
  std::uint64_t seed = 1;
  std::uint64_t reserved_bytes = 0;
  std::int64_t compared_bytes = 0;
  std::vector<GroupMove> moves;
  Together together;
  std::vector<LayerCheck> layers;   ///< one for each layer of the result, in its order
  std::vector<std::string> faults;  ///< of no single layer

  bool ok() const;
};

/// Reserves memory laid out as registered, moves blocks of every layer that is served, and
/// compares.
/// @pre result.ok()
/// Errors: an unknown group or layer; memory that cannot be reserved.
Expected<Report> verify(const Result& result, const Options& options, const Answers& answers);
Expected<Report> verify(const Result& result, const Options& options);

/// For people.
std::string in_words(const Result& result, const Report& report);

/// `kvedit.verify/1`; a result that is not ok has no report.
std::string in_json(const Result& result, const Report* report);

}  // namespace kvedit::verify
