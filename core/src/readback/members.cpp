#include "readback/members.hpp"

#include <algorithm>
#include <utility>

#include "base/text.hpp"
#include "model/index.hpp"
#include "readback/handed.hpp"

namespace kvedit::readback {
namespace {

constexpr const char* instead = "; use profile native, or the page map";

class Reader {
 public:
  Reader(const Edit& edit, HeadOrder order, Problems& problems)
      : edit_(edit), order_(order), problems_(problems) {}

  std::vector<Member> run(std::size_t group) {
    const RegistrationIndex& index = edit_.registration.index();
    members_.reserve(index.group_begin[group + 1] - index.group_begin[group]);
    for (std::size_t l = index.group_begin[group]; l < index.group_begin[group + 1]; ++l) add(l);
    std::vector<bool> is_named;  // all of them before any is moved: they look at each other
    for (Member& member : members_) is_named.push_back(named(member));
    std::vector<Member> read;
    read.reserve(members_.size());
    for (std::size_t i = 0; i < members_.size(); ++i)
      if (is_named[i]) read.push_back(std::move(members_[i]));
    std::stable_sort(read.begin(), read.end(), [&](const Member& a, const Member& b) {
      return edit_.layers[a.layer].cache < edit_.layers[b.layer].cache;
    });
    return read;
  }

 private:
  void add(std::size_t layer) {
    const LayerEntry& entry = edit_.layers[layer];
    const LayerRef& ref = edit_.registration.index().layers[layer];
    if (!ref.spec->has_layer_views) {
      problems_.of_layer(Severity::error, layer,
                         "LMCache asks for a cache of every layer of a group, and the engine "
                         "registers none for this one (has_layer_views false); keep the group out "
                         "of what LMCache is told",
                         {});
      return;
    }
    std::size_t owner = layer;
    if (entry.outcome == Outcome::excluded) {
      if (ref.twin < 0) return;
      owner = static_cast<std::size_t>(ref.twin);
    }
    const LayerEntry& served = edit_.layers[owner];
    if (served.outcome == Outcome::failed || served.outcome == Outcome::excluded) return;
    Handed given = handed(edit_, layer);
    auto seen = wrapped(given);
    if (const auto* why = std::get_if<std::string>(&seen)) {
      problems_.of_layer(Severity::error, layer, text(*why, instead), {});
      return;
    }
    members_.push_back({layer,
                        &edit_.classes[static_cast<std::size_t>(served.layer_class)],
                        std::move(given.views),
                        std::get<Entry>(std::move(seen)),
                        {},
                        {}});
  }

  static bool alike(const Member& a, const Member& b) {
    if (a.entry.list != b.entry.list || a.views.size() != b.views.size()) return false;
    for (std::size_t v = 0; v < a.views.size(); ++v)
      if (a.views[v].shape != b.views[v].shape || a.views[v].dtype.name != b.views[v].dtype.name)
        return false;
    return true;
  }

  /// LMCache looks at the first of the layers that have equal shapes and dtypes.
  bool named(Member& member) {
    const auto first = std::find_if(members_.begin(), members_.end(),
                                    [&](const Member& other) { return alike(other, member); });
    const std::optional<Format> format = detect(first->entry, order_);
    if (!format) {
      const std::size_t count = member.views.size();
      problems_.of_layer(
          Severity::error, member.layer,
          text("LMCache knows no format of ", count, count == 1 ? " tensor" : " tensors", " like ",
               shown(member.views.front()), instead),
          {{"rank", static_cast<std::int64_t>(member.views.front().shape.size())}});
      return false;
    }
    member.format = *format;
    member.read = geometry(member.entry, *format, order_);
    return true;
  }

  const Edit& edit_;
  HeadOrder order_;
  Problems& problems_;
  std::vector<Member> members_;
};

}  // namespace

std::vector<Member> members_of(const Edit& edit, std::size_t group, HeadOrder order,
                               Problems& problems) {
  return Reader(edit, order, problems).run(group);
}

}  // namespace kvedit::readback
