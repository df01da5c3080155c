#include "audit/crossing.hpp"

#include <set>
#include <span>
#include <utility>

#include "audit/owners.hpp"
#include "base/crossing.hpp"
#include "base/text.hpp"

namespace kvedit::audit {
namespace {

constexpr std::int64_t most_steps = std::int64_t{1} << 18;

class Crossings {
 public:
  explicit Crossings(const Edit& edit) : edit_(edit) {}

  std::vector<Problem> run() {
    const std::vector<Span> spans = spans_of(edit_, proved_layers());
    for (std::span<const Span> rest = spans; !rest.empty();) {
      const std::span<const Span> cluster = first_cluster(rest);
      if (cluster.size() > 1) look_into(cluster);
      rest = rest.subspan(cluster.size());
    }
    return std::move(problems_);
  }

 private:
  std::vector<std::size_t> proved_layers() const {
    std::vector<std::size_t> layers;
    for (std::size_t l = 0; l < edit_.layers.size(); ++l) {
      const Outcome outcome = edit_.layers[l].outcome;
      if (outcome != Outcome::excluded && outcome != Outcome::failed) layers.push_back(l);
    }
    return layers;
  }

  std::int32_t group_of(std::size_t layer) const { return edit_.layers[layer].group; }

  void look_into(std::span<const Span> cluster) {
    const std::vector<Owner> owners = owners_of(edit_, cluster);
    if (none_crosses(fields_of(owners))) return;
    for (std::size_t i = 0; i < owners.size(); ++i)
      for (std::size_t j = 0; j < i; ++j) compare(owners[i], owners[j]);
  }

  void compare(const Owner& a, const Owner& b) {
    if (group_of(a.layer) == group_of(b.layer)) return;
    const bool later = group_of(a.layer) > group_of(b.layer);
    const Owner& owner = later ? a : b;
    const Owner& other = later ? b : a;
    const std::pair groups(group_of(owner.layer), group_of(other.layer));
    if (told_.contains(groups)) return;
    const Crossing found = cross(owner.field, other.field, steps_);
    if (found.meeting == Meeting::apart) return;
    told_.insert(groups);
    problems_.push_back(found.meeting == Meeting::share ? shared(owner, other, found)
                                                        : undecided(owner, other));
  }

  Problem made(const Owner& owner) const {
    Problem problem;
    problem.severity = Severity::warning;
    problem.code = Code::overlap;
    problem.group = group_of(owner.layer);
    problem.layer = std::string(edit_.layers[owner.layer].name);
    return problem;
  }

  std::string layer_and_group(const Owner& owner) const {
    return text("layer ", edit_.layers[owner.layer].name, " of group ", group_of(owner.layer));
  }

  const std::string& storage_of(const Owner& owner) const {
    return edit_.registration.data().storages[static_cast<std::size_t>(owner.storage)].name;
  }

  Problem shared(const Owner& owner, const Owner& other, const Crossing& found) const {
    Problem problem = made(owner);
    problem.message =
        text(layer_and_group(owner), " keeps block ", found.block, " and ", layer_and_group(other),
             " block ", found.other_block, " at the same byte ", found.byte, " of storage ",
             storage_of(owner),
             ". Groups may lie over each other under one block id, which one of them holds at a "
             "time; two ids are held at once, and then one group writes over the other: check "
             "block stride, offset and page_size_bytes of both");
    problem.facts = {{"storage", storage_of(owner)},
                     {"byte", saturated(found.byte)},
                     {"block", found.block},
                     {"other", std::string(edit_.layers[other.layer].name)},
                     {"other_group", std::int64_t{group_of(other.layer)}},
                     {"other_block", found.other_block}};
    return problem;
  }

  Problem undecided(const Owner& owner, const Owner& other) const {
    Problem problem = made(owner);
    problem.message =
        text(layer_and_group(owner), " and ", layer_and_group(other),
             " lie over each other in "
             "storage ",
             storage_of(owner), " with ", owner.field.stride, " and ", other.field.stride,
             " bytes from block to block, and it could not be shown that "
             "different block ids of the two share nothing: check block stride, offset and "
             "page_size_bytes of both");
    problem.facts = {{"storage", storage_of(owner)},
                     {"block_stride", owner.field.stride},
                     {"other", std::string(edit_.layers[other.layer].name)},
                     {"other_group", std::int64_t{group_of(other.layer)}},
                     {"other_block_stride", other.field.stride}};
    return problem;
  }

  const Edit& edit_;
  std::int64_t steps_ = most_steps;
  std::set<std::pair<std::int32_t, std::int32_t>> told_;
  std::vector<Problem> problems_;
};

}  // namespace

std::vector<Problem> crossing_groups(const Edit& edit) { return Crossings(edit).run(); }

}  // namespace kvedit::audit
