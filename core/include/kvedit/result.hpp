#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <kvedit/dtype.hpp>
#include <kvedit/export.hpp>
#include <kvedit/options.hpp>
#include <kvedit/problem.hpp>
#include <kvedit/registration.hpp>

namespace kvedit {

struct Edit;

/// What an axis carries.
enum class Role : std::uint32_t { block, kernel_page, kv, head, token, content, opaque };

/// What became of a layer by itself; `docs/formats.md`, "Layers". What is `edited`, `passed` or
/// `scratch` is served when the result is ok, and held back when it is not.
enum class Outcome : std::uint32_t { edited, passed, scratch, excluded, failed };
/// `refused`: every group of a result that is not ok, but the excluded ones.
enum class GroupOutcome : std::uint32_t { served, scratch, excluded, refused };
enum class Verdict : std::uint32_t { no_match, match, refuse, error };

/// Which blocks of a request an engine keeps, and for how long their content can be used again.
enum class Retention : std::uint32_t {
  full,       ///< every block, from the first token on
  window,     ///< the blocks of the last `window_tokens` tokens
  chunk,      ///< the blocks of the current attention chunk
  recurrent,  ///< states: one block holds all that came before
  scratch,    ///< a request's own work space; never found again by prefix
};

KVEDIT_API std::string_view to_text(Role role);
KVEDIT_API std::string_view to_text(Outcome outcome);
KVEDIT_API std::string_view to_text(GroupOutcome outcome);
KVEDIT_API std::string_view to_text(Verdict verdict);
KVEDIT_API std::string_view to_text(Retention retention);

/// A view over a storage, as `torch.as_strided` takes it. Spans live as long as the result.
struct View {
  const DType* dtype = nullptr;
  std::span<const std::int64_t> shape;
  std::span<const std::int64_t> stride;  ///< elements of `dtype`
  std::int64_t storage_offset = 0;       ///< elements of `dtype`
  std::int32_t storage = 0;              ///< index into the registration's storages
  std::uint32_t tensor = 0;              ///< registered tensor of the layer it is made over
  std::uint32_t block_axis = 0;          ///< the axis whose index is the block id
  std::span<const Role> axes;
};

/// Bytes relative to the start of a block.
struct Range {
  std::int64_t offset = 0;
  std::int64_t length = 0;

  bool operator==(const Range&) const = default;
};

/// Bytes of every block in one storage: block *b* has each range at
/// `base + b·block_stride + range.offset`. All bytes.
struct Part {
  std::int32_t storage = 0;  ///< index into the registration's storages
  std::int64_t base = 0;
  std::int64_t block_stride = 0;
  std::span<const Range> ranges;
};

/// The payload of a layer: the bytes a faithful retrieve must restore, nothing more.
struct PageMap {
  std::int64_t blocks = 0;
  std::span<const Part> parts;  ///< in storing order
  std::int64_t block_bytes = 0;
  std::int64_t kernel_pages = 1;
  std::int64_t slots = 1;
  std::int64_t tokens = 0;
  bool opaque = false;    ///< what lies in the views' axes is not K or V by position
  bool declared = false;  ///< the order was declared by the rule, not proved from the registration
};

/// Where K and V of one head and state lie in a page that is not opaque. Elements count in the
/// registered dtype, along the axes of the views that are named `kv` and `content`.
struct Content {
  enum class Form : std::uint32_t {
    kv_axis,     ///< index 0 of the `kv` axis is K, index 1 V
    kv_tensors,  ///< K in the first tensor, V in the second
    k_beside_v,  ///< in `content`: `key_elements` of K, then `value_elements` of V
    key,         ///< K alone
    latent,      ///< one latent of `key_elements` for all heads
  };

  Form form = Form::k_beside_v;
  std::int64_t key_elements = 0;
  std::int64_t value_elements = 0;

  bool operator==(const Content&) const = default;
};

KVEDIT_API std::string_view to_text(Content::Form form);

/// What LMCache 0.5.6 takes the views of a layer for (profile `lmcache`). The bytes are right, the
/// names need not be: a warning says where they differ.
struct ReadBack {
  std::string_view format;  ///< LMCache's name of the memory format
  std::int64_t planes = 1;  ///< 2: K and V apart
  std::int64_t blocks = 0;
  std::int64_t slots = 0;  ///< of a block
  std::int64_t heads = 1;
  std::int64_t width = 0;         ///< elements of one head of a slot; K beside V where packed
  std::int64_t block_bytes = 0;   ///< bytes it moves for a block
  std::int64_t block_stride = 0;  ///< bytes from one block to the next

  bool operator==(const ReadBack&) const = default;
};

/// What a rule said about a layer.
struct Tried {
  std::string_view rule;
  Verdict verdict = Verdict::no_match;
  std::string_view reason;
};

struct RuleInfo {
  std::string id, pack, version, tier;
  std::int32_t priority = 0;
  std::string sha256;  ///< of the pack file, hexadecimal; empty for a rule of no file
};

struct GroupResult {
  std::int32_t index = 0;
  Kind kind = Kind::unknown;
  std::int64_t layers = 0;
  GroupOutcome outcome = GroupOutcome::served;
  std::int64_t tokens_per_block = 0;
  std::optional<std::int64_t> slots_per_block;  ///< nothing when its layers differ or have none
  std::optional<std::int64_t> block_bytes;      ///< payload of all layers; only when served
  Retention retention = Retention::full;        ///< of its layers; the longest when they differ
  std::optional<std::int64_t> window_tokens;    ///< of retention `window`, when the specs say it
};

/// One allocation as a connector registers it: a single run of bytes that holds everything blocks
/// own of it. What lies between and belongs to no layer is inside; nothing served is outside.
struct Allocation {
  std::int32_t storage = 0;         ///< index into the registration's storages
  std::int64_t begin = 0;           ///< first byte, from the start of the storage
  std::int64_t length = 0;          ///< bytes
  std::vector<std::size_t> layers;  ///< indices into the result: who owns bytes of it, ascending

  bool operator==(const Allocation&) const = default;
};

/// One layer of a result; a handle that lives as long as the result it came from.
class KVEDIT_API LayerResult {
 public:
  std::string_view name() const;
  std::int32_t group() const;  ///< -1: in no group
  std::int32_t cache() const;  ///< index into the registration's caches; -1: none registered
  Outcome outcome() const;
  std::string_view rule() const;    ///< id of the rule that claimed it, or empty
  std::string_view reason() const;  ///< why it is excluded, or empty
  /// Layers of equal facts have the same number; they differ only in name and place.
  std::size_t layer_class() const;

  /// One view, or several when the page lies in several tensors; none when the result is not ok.
  std::size_t view_count() const;
  /// @param index  below `view_count()`; not checked
  View view(std::size_t index) const;
  /// Nothing when the layer is excluded or the result is not ok.
  std::optional<PageMap> pages() const;
  /// Nothing when the page is opaque, or there is none.
  std::optional<Content> content() const;
  /// Why its page is opaque: "recurrent"; "kernel-pages" (shown by synthetic axes); "axes" (that
  /// the spec does not explain); "backend" (it orders elements by its own); "content" (packed,
  /// quantised, an indexer's). Else empty.
  std::string_view opaque_because() const;
  /// The bytes each block owns, as parts; empty under the same conditions.
  std::vector<Part> owned() const;
  /// What the views' consumer will read; only in profile `lmcache`, under the same conditions.
  std::optional<ReadBack> read_back() const;
  /// The rules asked, in order, up to the match.
  std::vector<Tried> tried() const;

 private:
  friend class Result;
  LayerResult(const Edit& edit, std::size_t index) : edit_(&edit), index_(index) {}

  const Edit* edit_;
  std::size_t index_;
};

/// What `Host::edit` found; immutable, cheap to copy, safe to share among threads.
class KVEDIT_API Result {
 public:
  explicit Result(std::shared_ptr<const Edit> edit) : edit_(std::move(edit)) {}

  /// True when no problem is an error. Otherwise no layer has views or pages.
  bool ok() const;
  const EditOptions& options() const;
  const Registration& registration() const;
  std::span<const Problem> problems() const;
  std::span<const GroupResult> groups() const;
  /// The smallest number of tokens that is a multiple of what a block holds in every served group.
  /// It and its multiples are the chunk sizes at which every group can be cut.
  std::optional<std::int64_t> chunk_tokens() const;
  /// One registration range for each storage in which layers with pages own bytes, in the order of
  /// the registration's storages; none when the result is not ok. Worked out at each call.
  std::vector<Allocation> allocations() const;

  /// The layout fingerprint of everything that is stored: "kvx1-" and 32 hexadecimal digits, equal
  /// only when stored blocks are interchangeable (`docs/fingerprint.md`). Nothing when the result
  /// is not ok, or nothing is stored. It does not name the rank: keys must. Worked out at each
  /// call.
  std::optional<std::string> fingerprint() const;
  /// The same of one group; also nothing for a group that does not exist, and for a scratch group
  /// when the purpose is `prefix`.
  std::optional<std::string> group_fingerprint(std::size_t group) const;
  /// The texts whose hashes they are.
  std::optional<std::string> layout_text() const;
  std::optional<std::string> group_layout_text(std::size_t group) const;

  /// Layers by group and their order in it, then caches of no group in registration order.
  std::size_t layer_count() const;
  /// @param index  below `layer_count()`; not checked
  LayerResult layer(std::size_t index) const;
  std::optional<LayerResult> find_layer(std::string_view name) const;

  /// The rules that could be asked, in order, and how many layers each claimed.
  std::span<const RuleInfo> rules() const;
  std::vector<std::int64_t> layers_claimed() const;

 private:
  std::shared_ptr<const Edit> edit_;
};

}  // namespace kvedit
