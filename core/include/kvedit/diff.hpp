#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <kvedit/explain.hpp>
#include <kvedit/export.hpp>
#include <kvedit/result.hpp>

namespace kvedit {

/// A field in which two layouts differ; empty where a side does not have it.
struct LayoutDifference {
  std::string field;  ///< as in the layout text; "layers", "layer order" for the set of layers
  std::string a, b;
  std::string layer;        ///< the first layer concerned; empty: the whole group
  std::int64_t layers = 0;  ///< how many layers differ so
};

/// Two groups that hold the same layers, or one that has no partner.
struct GroupDiff {
  std::int32_t a = -1, b = -1;  ///< index of the group on each side, or -1
  std::string fingerprint_a, fingerprint_b;
  std::vector<std::string> equal;             ///< fields of the layout text that agree
  std::vector<LayoutDifference> differences;  ///< forbid sharing
  std::vector<LayoutDifference> immaterial;   ///< differ and do not matter

  bool may_share() const { return !fingerprint_a.empty() && fingerprint_a == fingerprint_b; }
};

struct LayoutDiff {
  bool ok_a = false, ok_b = false;
  std::string fingerprint_a, fingerprint_b;
  std::vector<GroupDiff> groups;  ///< stored groups of A in their order, then those only B has
  std::vector<LayoutDifference> differences;  ///< of the whole: "group order"
  std::vector<LayoutDifference> immaterial;   ///< of the whole: engine, version, number of blocks

  /// Whether entries that one side stored are what the other expects.
  bool may_share() const { return !fingerprint_a.empty() && fingerprint_a == fingerprint_b; }
};

/// Holds the layouts of two results against each other (`docs/fingerprint.md`). Pure.
KVEDIT_API LayoutDiff compare_layouts(const Result& a, const Result& b);

/// What a differing field means for who would share entries; a sentence without a full stop.
KVEDIT_API std::string_view consequence(const LayoutDifference& difference);

/// For people. Names of the sides stand for A and B.
KVEDIT_API std::string explain_diff(const LayoutDiff& diff, std::string_view name_a,
                                    std::string_view name_b, const TextOptions& options = {});

/// `kvedit.diff/1`, ending with a newline.
KVEDIT_API std::string write_diff(const LayoutDiff& diff);

}  // namespace kvedit
