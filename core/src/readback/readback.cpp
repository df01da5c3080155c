#include "readback/readback.hpp"

#include <numeric>
#include <utility>

#include "base/text.hpp"
#include "model/head_order.hpp"
#include "model/index.hpp"
#include "readback/groups.hpp"
#include "readback/handed.hpp"
#include "readback/problems.hpp"
#include "readback/spec_words.hpp"

namespace kvedit::readback {
namespace {

class Whole {
 public:
  explicit Whole(Edit& edit) : edit_(edit), data_(edit.registration.data()), problems_(edit) {}

  std::vector<Problem> run() {
    edit_.read_backs.resize(edit_.layers.size());
    frame_.order = read_back_order(data_);
    if (frame_.order == HeadOrder::outermost) {
      problems_.of_all(text("LMCache refuses layout ", data_.layout,
                            ", which puts heads before blocks; start the engine with LBNHC, "
                            "LBHNC, BLNHC or BLHNC, or use the page map"),
                       {{"layout", data_.layout}});
      return std::move(problems_).take();
    }
    frame_.chunk = smallest_chunk();
    for (std::size_t g = 0; g < data_.groups.size(); ++g)
      if (!data_.groups[g].layers.empty()) read(g);
    if (!reads_any_ && !data_.caches.empty())
      problems_.of_all(
          "LMCache finds no layer to move and refuses that: every group of the "
          "registration is one it leaves out; do not connect it",
          {});
    check_caches_not_moved();
    return std::move(problems_).take();
  }

 private:
  std::int64_t smallest_chunk() const {
    std::int64_t chunk = 1;
    for (const Group& group : data_.groups) {
      if (group.layers.empty() || left_out(group)) continue;
      const std::int64_t tokens = tokens_read(group, data_.parallel.dcp);
      if (tokens <= 0) continue;
      if (__builtin_mul_overflow(chunk / std::gcd(chunk, tokens), tokens, &chunk)) return INT64_MAX;
    }
    return chunk;
  }

  void read(std::size_t g) {
    const auto index = static_cast<std::int32_t>(g);
    if (left_out(data_.groups[g])) return check_left_out(g, index);
    reads_any_ = true;
    if (refuse(g, index)) return;
    read_group(edit_, g, frame_, problems_);
  }

  void check_left_out(std::size_t g, std::int32_t index) {
    const auto& begin = edit_.registration.index().group_begin;
    for (std::size_t l = begin[g]; l < begin[g + 1]; ++l) {
      const Outcome outcome = edit_.layers[l].outcome;
      if (outcome != Outcome::edited && outcome != Outcome::passed) continue;
      return problems_.of_group(
          Severity::error, index,
          text("LMCache leaves the group out, because its first spec is not prefix-cacheable, and "
               "layer ",
               edit_.layers[l].name, " of it is to be moved (purpose ",
               to_text(edit_.options.purpose), "); move it by its page map"),
          {});
    }
  }

  /// Scratch layers, and caches that belong to no group.
  void check_caches_not_moved() {
    for (std::size_t l = 0; l < edit_.layers.size(); ++l) {
      const LayerEntry& entry = edit_.layers[l];
      const bool moved =
          entry.group >= 0 && !left_out(data_.groups[static_cast<std::size_t>(entry.group)]);
      if (moved || entry.cache < 0 || entry.outcome == Outcome::failed) continue;
      const auto seen = wrapped(handed(edit_, l));
      if (const auto* why = std::get_if<std::string>(&seen))
        problems_.of_layer(Severity::error, l,
                           text(*why,
                                ", though it does not move it; keep it out of what LMCache "
                                "is told"),
                           {});
    }
  }

  /// What LMCache does not look at, or refuses before it looks at tensors.
  bool refuse(std::size_t g, std::int32_t index) {
    const Group& group = data_.groups[g];
    if (!group.enable_kv_transfer)
      return error(index,
                   "LMCache does not know enable_kv_transfer and would move this group like "
                   "the others; keep it out of what LMCache is told");
    if (group.host_resident)
      return error(index,
                   "LMCache does not know host_resident and would take the group's host "
                   "memory for the device's; use the page map for it");
    const auto& ref = edit_.registration.index();
    for (std::size_t l = ref.group_begin[g]; l < ref.group_begin[g + 1]; ++l) {
      const Spec& spec = *ref.layers[l].spec;
      if (edit_.options.purpose == Purpose::prefix) continue;  // validation says it
      if (spec.kind == Kind::cross_attention)
        return error(index,
                     "LMCache refuses cross attention, also for a running request; exclude "
                     "the group or use the page map");
      if (spec.recurrent() && spec.mamba_cache_mode != "align" && spec.mamba_cache_mode != "all")
        return error(index, text("LMCache refuses mamba_cache_mode ", spec.mamba_cache_mode,
                                 ", also for a running request; start the engine with align or "
                                 "all, or use the page map"));
    }
    return false;
  }

  bool error(std::int32_t group, std::string message) {
    problems_.of_group(Severity::error, group, std::move(message), {});
    return true;
  }

  Edit& edit_;
  const RegistrationData& data_;
  Problems problems_;
  Frame frame_;
  bool reads_any_ = false;
};

}  // namespace

std::vector<Problem> read_back(Edit& edit) { return Whole(edit).run(); }

}  // namespace kvedit::readback
