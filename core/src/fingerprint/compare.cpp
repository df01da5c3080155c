#include <algorithm>
#include <map>
#include <optional>
#include <set>

#include <kvedit/diff.hpp>

#include "base/text.hpp"
#include "fingerprint/layout_fields.hpp"

namespace kvedit {
namespace {

using fingerprint::Fields;
using fingerprint::LayerFields;
using fingerprint::LayoutFields;

/// A stored group of one side.
struct Stored {
  std::int32_t index;
  std::string print;
  LayoutFields layout;
};

std::vector<Stored> stored_groups(const Result& result) {
  std::vector<Stored> groups;
  for (std::size_t g = 0; g < result.groups().size(); ++g)
    if (const auto layout = result.group_layout_text(g))
      groups.push_back({static_cast<std::int32_t>(g), result.group_fingerprint(g).value_or(""),
                        fingerprint::read_layout(*layout)});
  return groups;
}

std::int64_t shared_layers(const Stored& a, const Stored& b) {
  std::set<std::string_view> names;
  for (const LayerFields& layer : a.layout.layers) names.insert(layer.name);
  return std::count_if(b.layout.layers.begin(), b.layout.layers.end(),
                       [&](const LayerFields& layer) { return names.count(layer.name) > 0; });
}

std::string text_of(const std::string* value) { return value ? *value : std::string(); }

/// Collects what differs and what agrees between two groups.
class GroupComparison {
 public:
  GroupComparison(const Stored& a, const Stored& b) : a_(a.layout), b_(b.layout) {
    diff_.a = a.index;
    diff_.b = b.index;
    diff_.fingerprint_a = a.print;
    diff_.fingerprint_b = b.print;
  }

  GroupDiff compare() && {
    compare_names();
    compare_fields(a_.whole, b_.whole, {});
    std::map<std::string_view, const LayerFields*> others;
    for (const LayerFields& layer : b_.layers) others.emplace(layer.name, &layer);
    for (const LayerFields& layer : a_.layers)
      if (const auto other = others.find(layer.name); other != others.end())
        compare_fields(layer.fields, other->second->fields, layer.name);
    for (const std::string& field : seen_)
      if (differing_.count(field) == 0) diff_.equal.push_back(field);
    return std::move(diff_);
  }

 private:
  static std::string names_beside(const LayoutFields& own, const LayoutFields& other) {
    constexpr std::size_t shown = 4;
    std::set<std::string_view> names;
    for (const LayerFields& layer : other.layers) names.insert(layer.name);
    std::string all;
    std::size_t more = 0;
    for (const LayerFields& layer : own.layers) {
      if (names.count(layer.name) > 0) continue;
      if (more++ < shown) all += text(all.empty() ? "" : ", ", layer.name);
    }
    return more > shown ? text(all, " and ", more - shown, " more") : all;
  }

  void compare_names() {
    const std::string only_a = names_beside(a_, b_), only_b = names_beside(b_, a_);
    if (!only_a.empty() || !only_b.empty()) {
      diff_.differences.push_back({"layers", only_a.empty() ? "" : "only here: " + only_a,
                                   only_b.empty() ? "" : "only here: " + only_b, "", 0});
      return;
    }
    for (std::size_t l = 0; l < std::min(a_.layers.size(), b_.layers.size()); ++l)
      if (a_.layers[l].name != b_.layers[l].name) {
        diff_.differences.push_back({"layer order", text(l, " is ", a_.layers[l].name),
                                     text(l, " is ", b_.layers[l].name), "", 0});
        return;
      }
    diff_.equal.push_back("layers");
  }

  void compare_fields(const Fields& a, const Fields& b, const std::string& layer) {
    for (const auto& [field, value] : a)
      compare_field(field, &value, fingerprint::value_of(b, field), layer);
    for (const auto& [field, value] : b)
      if (!fingerprint::value_of(a, field)) compare_field(field, nullptr, &value, layer);
  }

  void compare_field(const std::string& field, const std::string* a, const std::string* b,
                     const std::string& layer) {
    if (std::find(seen_.begin(), seen_.end(), field) == seen_.end()) seen_.push_back(field);
    if (a && b && *a == *b) return;
    differing_.insert(field);
    const std::string value_a = text_of(a), value_b = text_of(b);
    for (LayoutDifference& known : diff_.differences)
      if (known.field == field && known.a == value_a && known.b == value_b) {
        ++known.layers;
        return;
      }
    diff_.differences.push_back({field, value_a, value_b, layer, layer.empty() ? 0 : 1});
  }

  const LayoutFields& a_;
  const LayoutFields& b_;
  GroupDiff diff_;
  std::vector<std::string> seen_;  // fields, in their order
  std::set<std::string> differing_;
};

std::string list(std::span<const std::int64_t> numbers) {
  std::string all = "[";
  for (const std::int64_t number : numbers) all += text(all.size() > 1 ? ", " : "", number);
  return all + "]";
}

std::optional<LayerResult> first_layer(const Result& result, std::int32_t group) {
  for (std::size_t l = 0; l < result.layer_count(); ++l) {
    const LayerResult layer = result.layer(l);
    if (layer.group() == group && layer.pages()) return layer;
  }
  return std::nullopt;
}

void add_unlike(std::vector<LayoutDifference>& differences, std::string_view field, std::string a,
                std::string b) {
  if (a != b) differences.push_back({std::string(field), std::move(a), std::move(b), "", 0});
}

/// What two groups of one layout may have different; by their first layers.
void compare_immaterial(const Result& a, const Result& b, GroupDiff& diff) {
  const auto first_a = first_layer(a, diff.a), first_b = first_layer(b, diff.b);
  if (!first_a || !first_b) return;
  const PageMap pages_a = *first_a->pages(), pages_b = *first_b->pages();
  auto& into = diff.immaterial;
  add_unlike(into, "blocks", text(pages_a.blocks), text(pages_b.blocks));
  add_unlike(into, "kernel pages", text(pages_a.kernel_pages), text(pages_b.kernel_pages));
  add_unlike(into, "block stride", text(pages_a.parts[0].block_stride),
             text(pages_b.parts[0].block_stride));
  add_unlike(into, "first byte", text(pages_a.parts[0].base), text(pages_b.parts[0].base));
  add_unlike(into, "view", list(first_a->view(0).shape), list(first_b->view(0).shape));
}

void compare_whole(const Result& a, const Result& b, LayoutDiff& diff) {
  const RegistrationData& data_a = a.registration().data();
  const RegistrationData& data_b = b.registration().data();
  add_unlike(diff.immaterial, "model", data_a.model, data_b.model);
  add_unlike(diff.immaterial, "engine", text(data_a.engine_name, " ", data_a.engine_version),
             text(data_b.engine_name, " ", data_b.engine_version));
  add_unlike(diff.immaterial, "layout name", data_a.layout, data_b.layout);
  add_unlike(diff.immaterial, "num_blocks", text(data_a.num_blocks), text(data_b.num_blocks));
}

/// Groups that are alike one by one and still follow each other differently.
void compare_order(LayoutDiff& diff) {
  std::string a, b;
  std::vector<std::int32_t> partners;
  for (const GroupDiff& pair : diff.groups) {
    if (!pair.may_share()) return;
    a += text(a.empty() ? "" : ", ", pair.a);
    b += text(b.empty() ? "" : ", ", pair.b);
    partners.push_back(pair.b);
  }
  if (!std::is_sorted(partners.begin(), partners.end()))
    diff.differences.push_back({"group order", a, b, "", 0});
}

/// The partner of a group is the one with the most layers in common.
std::vector<Stored>::iterator partner_of(const Stored& group, std::vector<Stored>& others) {
  auto best = others.end();
  std::int64_t most = 0;
  for (auto other = others.begin(); other != others.end(); ++other)
    if (const std::int64_t shared = shared_layers(group, *other); shared > most) {
      most = shared;
      best = other;
    }
  return best;
}

}  // namespace

LayoutDiff compare_layouts(const Result& a, const Result& b) {
  LayoutDiff diff;
  diff.ok_a = a.ok();
  diff.ok_b = b.ok();
  diff.fingerprint_a = a.fingerprint().value_or("");
  diff.fingerprint_b = b.fingerprint().value_or("");
  compare_whole(a, b, diff);
  std::vector<Stored> others = stored_groups(b);
  for (const Stored& group : stored_groups(a)) {
    const auto partner = partner_of(group, others);
    if (partner == others.end()) {
      diff.groups.push_back({group.index, -1, group.print, "", {}, {}, {}});
      continue;
    }
    GroupDiff& pair = diff.groups.emplace_back(GroupComparison(group, *partner).compare());
    compare_immaterial(a, b, pair);
    others.erase(partner);
  }
  for (const Stored& group : others)
    diff.groups.push_back({-1, group.index, "", group.print, {}, {}, {}});
  compare_order(diff);
  return diff;
}

}  // namespace kvedit
