#include "pipeline.hpp"

#include <algorithm>
#include <utility>

#include "audit/apart.hpp"
#include "audit/crossing.hpp"
#include "audit/groups.hpp"
#include "audit/head_order.hpp"
#include "audit/sharing.hpp"
#include "audit/spec_bytes.hpp"
#include "audit/views.hpp"
#include "base/text.hpp"
#include "census.hpp"
#include "findings.hpp"
#include "match/claim.hpp"
#include "model/head_order.hpp"
#include "model/index.hpp"
#include "present/present.hpp"
#include "prove/prove.hpp"
#include "prove/sane.hpp"
#include "prove/settle.hpp"
#include "readback/readback.hpp"
#include "validate/validate.hpp"

namespace kvedit {
namespace {

constexpr std::int64_t audit_steps = std::int64_t{1} << 22;

bool is_error(const Problem& problem) { return problem.severity == Severity::error; }

class Pipeline {
 public:
  explicit Pipeline(Edit& edit)
      : edit_(edit), data_(edit.registration.data()), index_(edit.registration.index()) {}

  void run() {
    check_whole();
    if (edit_.options.profile == Profile::lmcache)
      reader_ = {read_back_order(data_), edit_.options.recurrent_rows};
    take_census(edit_, findings_);
    refused_.assign(data_.groups.size(), false);
    for (std::size_t g = 0; g < data_.groups.size(); ++g) validate(g);
    for (LayerClass& of : edit_.classes) prove(of);
    for (std::size_t l = 0; l < index_.layers.size(); ++l) settle(l);
    std::int64_t steps = audit_steps;
    for (std::size_t g = 0; g < data_.groups.size(); ++g) keep_apart(g, steps);
    for (const std::int32_t cache : index_.ungrouped) place_ungrouped(cache);
    finish();
  }

 private:
  void check_whole() {
    for (const std::string* name : index_.repeated)
      report(text("\"", *name, "\" is named twice; a layer, cache or storage has one name"));
    if (data_.num_blocks <= 0 && index_.layers.empty())  // else its layers say so
      report(text("num_blocks is ", data_.num_blocks, "; it must be positive"));
    const std::pair<const char*, std::int64_t> ranks[] = {
        {"tp", data_.parallel.tp},
        {"pp", data_.parallel.pp},
        {"dcp", data_.parallel.dcp},
        {"pcp", data_.parallel.pcp},
        {"cp_interleave", data_.parallel.cp_interleave}};
    for (const auto& [name, count] : ranks)
      if (count <= 0) report(text("parallel.", name, " is ", count, "; it must be positive"));
  }

  void report(std::string message) {
    Problem& problem = edit_.problems.emplace_back();
    problem.code = Code::bad_geometry;
    problem.message = std::move(message);
  }

  bool excluded(std::size_t layer) const {
    return edit_.layers[layer].outcome == Outcome::excluded;
  }

  void validate(std::size_t g) {
    if (!data_.groups[g].enable_kv_transfer) return;
    if (edit_.book->validators.empty() && !objectionable(g)) return;
    const validate::GroupFacts group = group_facts(g);
    if (group.layers.empty() && !data_.groups[g].layers.empty()) return;
    for (Problem& problem : validate::validate(group, edit_.options.purpose, *edit_.book)) {
      refused_[g] = refused_[g] || problem.severity == Severity::error;
      edit_.problems.push_back(std::move(problem));
    }
  }

  bool objectionable(std::size_t g) const {
    const Spec* last = &data_.groups[g].spec;
    bool found = validate::objectionable(*last);
    for (std::size_t l = index_.group_begin[g]; l < index_.group_begin[g + 1]; ++l) {
      if (index_.layers[l].spec == last) continue;
      last = index_.layers[l].spec;
      found = found || validate::objectionable(*last);
    }
    return found;
  }

  validate::GroupFacts group_facts(std::size_t g) const {
    validate::GroupFacts group;
    group.index = static_cast<std::int32_t>(g);
    group.group = &data_.groups[g];
    std::vector<std::int32_t> seen;
    group.layers.reserve(data_.groups[g].layers.size());
    for (std::size_t l = index_.group_begin[g]; l < index_.group_begin[g + 1]; ++l) {
      if (excluded(l)) continue;
      group.layers.push_back(edit_.layers[l].name);
      const std::int32_t of = edit_.layers[l].layer_class;
      if (of >= 0 && !seen.empty() && seen.back() == of) continue;
      if (of >= 0 && std::find(seen.begin(), seen.end(), of) != seen.end()) continue;
      seen.push_back(of);
      group.leaves.push_back(leaf_facts(index_.layers[l], of));
    }
    if (data_.groups[g].layers.empty())
      group.leaves.push_back(facts_of(edit_, {nullptr, &data_.groups[g].spec, group.index}));
    return group;
  }

  /// Tensors that mean nothing are shown to no rule.
  LayerFacts leaf_facts(const LayerRef& layer, std::int32_t of) const {
    LayerFacts facts = facts_of(edit_, layer);
    if (of < 0 || edit_.classes[static_cast<std::size_t>(of)].failure) facts.tensors = {};
    return facts;
  }

  void prove(LayerClass& of) {
    if (!of.failure && of.tokens == INT64_MAX && data_.parallel.dcp > 0)
      of.failure = too_many_tokens(*of.facts.spec);
    if (!of.failure) match::claim(of, *edit_.book);
    if (of.failure) return;
    auto proof = prove::prove(of.facts, of.rule < 0 ? nullptr : &of.plan);
    if (auto* failure = std::get_if<Failure>(&proof)) {
      of.failure = std::move(*failure);
      return;
    }
    of.page = std::move(std::get<ProvedPage>(proof));
    of.failure = present::present(of, edit_.options.profile, reader_);
    if (!of.failure) of.failure = audit::wrong_view(of);
    of.doubt = audit::other_bytes_than_the_spec_makes(of.facts);
    if (!of.doubt) of.doubt = audit::another_number_of_blocks(of);
    if (!of.doubt) of.doubt = audit::another_order_than_the_layout(of);
  }

  Failure too_many_tokens(const Spec& spec) const {
    return {Code::bad_geometry,
            text("block_size ", spec.block_size, " times parallel.dcp ", data_.parallel.dcp,
                 " tokens a block leave 63 bits; one of them is wrong"),
            {{"block_size", spec.block_size}, {"dcp", data_.parallel.dcp}}};
  }

  std::string_view rule_of(const LayerClass& of) const {
    return of.rule < 0 ? std::string_view()
                       : edit_.book->infos[static_cast<std::size_t>(of.rule)].id;
  }

  void settle(std::size_t l) {
    LayerEntry& entry = edit_.layers[l];
    if (index_.layers[l].twin >= 0 && excluded(l)) return doubt_twin(l);
    if (entry.layer_class < 0 || refused_[static_cast<std::size_t>(entry.group)]) return;
    const LayerClass& of = edit_.classes[static_cast<std::size_t>(entry.layer_class)];
    std::optional<Failure> failure;
    if (!of.failure) failure = prove::settle(data_, index_, index_.layers[l], of);
    if (of.failure || failure) {
      findings_.add(entry, rule_of(of), of.failure ? *of.failure : *failure);
      return;
    }
    if (of.doubt) findings_.add(entry, "", *of.doubt);
    const bool scratch =
        !of.facts.spec->prefix_cacheable && edit_.options.purpose == Purpose::prefix;
    entry.outcome = scratch ? Outcome::scratch : of.rule >= 0 ? Outcome::edited : Outcome::passed;
  }

  /// A layer left out for another's tensors, where nothing but the tensors says that they share.
  void doubt_twin(std::size_t l) {
    const auto twin = static_cast<std::size_t>(index_.layers[l].twin);
    const bool placed = index_.layers[l].placement >= 0 || index_.layers[twin].placement >= 0;
    const LayerEntry& owner = edit_.layers[twin];
    if (placed || owner.outcome == Outcome::failed || excluded(twin)) return;
    findings_.add(edit_.layers[l], "",
                  {Code::overlap,
                   text("its tensors are the very ones of layer ", owner.name,
                        " of the same group, and no placement says so; it is left out as a layer "
                        "that shares that cache. If it has a cache of its own, the registration "
                        "has the wrong tensor for it"),
                   {{"shares", std::string(owner.name)}},
                   Severity::warning});
  }

  void keep_apart(std::size_t g, std::int64_t& steps) {
    proved_.clear();
    for (std::size_t l = index_.group_begin[g]; l < index_.group_begin[g + 1]; ++l)
      if (edit_.layers[l].outcome != Outcome::failed && !excluded(l)) proved_.push_back(l);
    const bool several = data_.groups.size() > 1;
    const auto found = audit::shared(edit_, proved_, steps, several ? &overlays_ : nullptr);
    if (!found) return;
    LayerEntry& entry = edit_.layers[found->layer];
    findings_.add(entry, "", overlap(*found));
    entry.outcome = Outcome::failed;
  }

  Failure overlap(const audit::Shared& found) const {
    const std::string& storage = data_.storages[static_cast<std::size_t>(found.storage)].name;
    const std::string_view other = edit_.layers[found.other].name;
    return {Code::overlap,
            text("it owns bytes from ", found.stretch.begin, " to ", found.stretch.end,
                 " of storage ", storage, ", and layer ", other, " of the same group from ",
                 found.other_stretch.begin, " to ", found.other_stretch.end,
                 found.decided ? ": some are the same" : ": they cannot be shown apart",
                 ". Every block of a group has its own bytes: check offset, block stride and "
                 "page_size_bytes of both"),
            {{"storage", storage},
             {"begin", found.stretch.begin},
             {"end", found.stretch.end},
             {"other", std::string(other)},
             {"other_begin", found.other_stretch.begin},
             {"other_end", found.other_stretch.end}}};
  }

  void place_ungrouped(std::int32_t cache) {
    LayerEntry entry;
    entry.name = data_.caches[static_cast<std::size_t>(cache)].layer;
    entry.cache = cache;
    std::optional<Failure> failure = prove::placed_at_all(data_, index_, cache);
    if (!failure)
      failure = prove::sane_tensors(data_.caches[static_cast<std::size_t>(cache)].tensors);
    const auto owner = failure ? std::nullopt : audit::shares_with(edit_, cache);
    if (owner || (!failure && edit_.options.pass_ungrouped)) {
      entry.outcome = Outcome::excluded;
      entry.reason = static_cast<std::int32_t>(edit_.reasons.size());
      edit_.reasons.push_back(owner ? text("shares ", *owner) : "no-group");
    } else if (failure) {
      findings_.add(entry, "", *failure);
    } else {
      findings_.add(entry, "",
                    {Code::missing_spec,
                     "it is registered, no group has it, and its bytes are no grouped layer's; "
                     "no spec says what a block id means in it. Give it a group and a spec, or "
                     "leave it out",
                     {}});
    }
    edit_.layers.push_back(std::move(entry));
  }

  void finish() {
    for (Problem& problem : findings_.problems()) edit_.problems.push_back(std::move(problem));
    if (edit_.options.profile == Profile::lmcache)
      for (Problem& problem : readback::read_back(edit_))
        edit_.problems.push_back(std::move(problem));
    for (const Problem& problem : edit_.book->problems) edit_.problems.push_back(problem);
    if (overlays_.may_cross() &&
        std::none_of(edit_.problems.begin(), edit_.problems.end(), is_error))
      for (Problem& problem : audit::crossing_groups(edit_))
        edit_.problems.push_back(std::move(problem));
    std::stable_sort(edit_.problems.begin(), edit_.problems.end(),
                     [](const Problem& a, const Problem& b) { return a.severity < b.severity; });
    edit_.ok = edit_.problems.empty() || edit_.problems.front().severity != Severity::error;
    audit::sum_up_groups(edit_);
    if (!edit_.ok) return;
    edit_.chunk_tokens = audit::chunk_tokens(edit_);
    write_parts();
  }

  void write_parts() {
    edit_.parts.reserve(edit_.layers.size());
    for (LayerEntry& entry : edit_.layers) {
      if (entry.outcome == Outcome::excluded) continue;
      entry.first_part = static_cast<std::uint32_t>(edit_.parts.size());
      const LayerClass& of = edit_.classes[static_cast<std::size_t>(entry.layer_class)];
      for (const PartShape& shape : of.page->payload)
        edit_.parts.push_back(place(edit_, entry, shape));
    }
  }

  Edit& edit_;
  const RegistrationData& data_;
  const RegistrationIndex& index_;
  present::Reader reader_;
  std::vector<bool> refused_;        // groups
  std::vector<std::size_t> proved_;  // layers of the group at hand
  audit::Overlays overlays_;
  Findings findings_;
};

}  // namespace

std::shared_ptr<const Edit> run_pipeline(const Registration& registration,
                                         const EditOptions& options,
                                         std::shared_ptr<const RuleBook> book) {
  auto edit = std::make_shared<Edit>(registration, options, std::move(book));
  Pipeline(*edit).run();
  return edit;
}

}  // namespace kvedit
