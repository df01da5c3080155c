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

  Members run(std::size_t group) {
    const RegistrationIndex& index = edit_.registration.index();
    members_.layers.reserve(index.group_begin[group + 1] - index.group_begin[group]);
    for (std::size_t l = index.group_begin[group]; l < index.group_begin[group + 1]; ++l) add(l);
    for (Look& look : members_.looks) name(look);
    std::erase_if(members_.layers, [&](const Member& member) { return unnamed(member); });
    std::stable_sort(members_.layers.begin(), members_.layers.end(),
                     [&](const Member& a, const Member& b) {
                       return edit_.layers[a.layer].cache < edit_.layers[b.layer].cache;
                     });
    return std::move(members_);
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
    const LayerClass& of = edit_.classes[static_cast<std::size_t>(served.layer_class)];
    if (const Look* look = look_of(layer, of, owner == layer))
      members_.layers.push_back({layer, look});
  }

  /// Layers of a class have the same views, and the same look where their memory is of one kind.
  const Look* look_of(std::size_t layer, const LayerClass& of, bool served) {
    const bool takes_lists = takes_lists_at(edit_, edit_.layers[layer].cache);
    if (served)
      for (const Known& known : known_)
        if (known.look->of == &of && known.takes_lists == takes_lists) return known.look;
    Handed given = handed(edit_, layer);
    auto seen = wrapped(given);
    if (const auto* why = std::get_if<std::string>(&seen)) {
      problems_.of_layer(Severity::error, layer, text(*why, instead), {});
      return nullptr;
    }
    const Look& look = members_.looks.emplace_back(Look{
        &of, given.views, std::move(given.registered), std::get<Entry>(std::move(seen)), {}, {}});
    if (served) known_.push_back({&look, takes_lists});
    return &look;
  }

  static bool alike(const Look& a, const Look& b) {
    if (a.entry.list != b.entry.list || a.views.size() != b.views.size()) return false;
    for (std::size_t v = 0; v < a.views.size(); ++v)
      if (a.views[v].shape != b.views[v].shape || a.views[v].dtype.name != b.views[v].dtype.name)
        return false;
    return true;
  }

  /// LMCache looks at the first of the layers that have equal shapes and dtypes.
  void name(Look& look) const {
    const auto first = std::find_if(members_.looks.begin(), members_.looks.end(),
                                    [&](const Look& other) { return alike(other, look); });
    look.format = detect(first->entry, order_);
    if (look.format) look.read = geometry(look.entry, *look.format, order_);
  }

  bool unnamed(const Member& member) {
    const Look& look = *member.look;
    if (look.format) return false;
    const std::size_t count = look.views.size();
    problems_.of_layer(
        Severity::error, member.layer,
        text("LMCache knows no format of ", count, count == 1 ? " tensor" : " tensors", " like ",
             shown(look.views.front()), instead),
        {{"rank", static_cast<std::int64_t>(look.views.front().shape.size())}});
    return true;
  }

  struct Known {
    const Look* look;
    bool takes_lists;
  };

  const Edit& edit_;
  HeadOrder order_;
  Problems& problems_;
  std::vector<Known> known_;
  Members members_;
};

}  // namespace

Members members_of(const Edit& edit, std::size_t group, HeadOrder order, Problems& problems) {
  return Reader(edit, order, problems).run(group);
}

}  // namespace kvedit::readback
