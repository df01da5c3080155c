#include "reference/promises.hpp"

#include <algorithm>
#include <span>

#include <kvedit/addresses.hpp>
#include <kvedit/json.hpp>

#include "reference/memory.hpp"
#include "reference/run_set.hpp"

namespace kvedit::reference {
namespace {

using Faults = std::vector<std::string>;

std::string at(std::int64_t block) { return " of block " + std::to_string(block); }

/// One layer of a result that is ok.
class LayerPromises {
 public:
  LayerPromises(const Result& result, std::size_t index, std::size_t most, Faults& faults)
      : result_(result), layer_(result.layer(index)), index_(index), most_(most), faults_(faults) {}

  void check() {
    const std::optional<PageMap> pages = layer_.pages();
    if (layer_.outcome() == Outcome::failed) return fault("failed, though the result is ok");
    if (layer_.outcome() == Outcome::excluded) {
      if (pages || layer_.view_count() != 0) fault("excluded, with pages or views");
      if (layer_.reason().empty()) fault("excluded for no reason");
      return;
    }
    if (!pages) return fault("no pages");
    check_numbers(*pages);
    views_.reserve(layer_.view_count());
    for (std::size_t i = 0; i < layer_.view_count(); ++i) views_.push_back(layer_.view(i));
    if (views_.empty()) return fault("no view");
    for (const View& view : views_)
      if (!well_shaped(view, pages->blocks)) return;
    check_bytes(*pages);
  }

 private:
  void fault(std::string what) { faults_.push_back(std::string(layer_.name()) + ": " + what); }

  void check_numbers(const PageMap& pages) {
    std::int64_t bytes = 0;
    for (const Part& part : pages.parts)
      for (const Range& range : part.ranges) bytes += range.length;
    if (bytes != pages.block_bytes) fault("block bytes are not those of its parts");
    if (pages.blocks < 1 || pages.kernel_pages < 1 || pages.slots < 1 || pages.tokens < 1)
      fault("blocks, kernel pages, slots or tokens below 1");
    if ((layer_.outcome() == Outcome::edited) != !layer_.rule().empty() &&
        layer_.outcome() != Outcome::scratch)
      fault("edited, and no rule; or the other way round");
  }

  bool well_shaped(const View& view, std::int64_t blocks) {
    const std::size_t rank = view.shape.size();
    if (view.stride.size() != rank || view.axes.size() != rank || view.block_axis >= rank)
      return fault("a view with ranks that differ"), false;
    if (view.shape[view.block_axis] != blocks)
      return fault("a view whose block axis has " + std::to_string(view.shape[view.block_axis]) +
                   " entries"),
             false;
    if (std::count(view.axes.begin(), view.axes.end(), Role::block) != 1 ||
        view.axes[view.block_axis] != Role::block)
      return fault("a view with another block axis"), false;
    for (std::size_t i = 0; i < rank; ++i)
      if (view.shape[i] < 1 || view.stride[i] < 1)
        return fault("a view with an extent or stride below 1"), false;
    return true;
  }

  void check_bytes(const PageMap& pages) {
    const std::vector<Part> owned_parts = layer_.owned();
    const MovingRuns payload = runs_of(pages.parts), owned = runs_of(owned_parts);
    if (!payload.fits(pages.blocks) || !owned.fits(pages.blocks)) return fault("beyond 2^62 bytes");
    if (payload.runs.size() > most_ || owned.runs.size() > most_) return;
    const std::optional<MovingRuns> seen = runs_of(views_, most_);
    if (seen && !seen->fits(pages.blocks)) return fault("views beyond 2^62 bytes");
    const std::int64_t all = std::min(pages.blocks, static_cast<std::int64_t>(most_));
    const std::int64_t few = std::int64_t{1} << 18;
    const auto runs = static_cast<std::int64_t>(payload.runs.size() + owned.runs.size());
    // Where everything moves alike, what holds of one block holds of all.
    const std::optional<std::int64_t> step = owned.common_stride();
    const bool alike =
        step && step == payload.common_stride() && (!seen || step == seen->common_stride());
    std::int64_t block = 0;
    for (; block < (alike ? 1 : all) && block * runs < few; ++block)
      check_block(block, payload, owned, seen ? &*seen : nullptr);
    if (block < pages.blocks)
      check_block(pages.blocks - 1, payload, owned, seen ? &*seen : nullptr);
    check_addresses(payload, pages.blocks - 1);
  }

  void check_block(std::int64_t block, const MovingRuns& payload, const MovingRuns& owned,
                   const MovingRuns* seen) {
    bool twice = false;
    const RunSet paid = payload.at(block, twice);
    if (twice) fault("parts name a byte twice" + at(block));
    const RunSet own = owned.at(block, twice);
    if (twice) fault("owned parts name a byte twice" + at(block));
    if (!contains(own, paid)) fault("payload that is not owned" + at(block));
    for (const Run& run : own)
      if (run.begin < 0 || run.end > storage(run.storage).nbytes)
        return fault("owned bytes outside storage " + storage(run.storage).name + at(block));
    if (seen == nullptr) return;
    const RunSet shown = seen->at(block, twice);
    if (twice) fault("views show a byte twice" + at(block));
    if (!contains(shown, paid)) fault("views miss payload" + at(block));
    if (!contains(own, shown)) fault("views show bytes that are not owned" + at(block));
  }

  void check_addresses(const MovingRuns& payload, std::int64_t block) {
    const std::size_t layers[] = {index_};
    const Expected<AddressMap> map = AddressMap::make(result_, layers);
    if (!map) return fault("no address map: " + map.error().text());
    const std::int64_t blocks[] = {block};
    const Expected<std::vector<Extent>> extents = map->extents(blocks);
    if (!extents) return fault("no addresses: " + extents.error().text());
    RunSet named;
    for (const Extent& extent : *extents)
      named.push_back({extent.storage, static_cast<std::int64_t>(extent.address),
                       static_cast<std::int64_t>(extent.address + extent.length)});
    bool twice = false;
    if (unite(named) || named != payload.at(block, twice))
      fault("addresses are not the payload" + at(block));
  }

  const Storage& storage(std::int32_t index) const {
    return result_.registration().data().storages[static_cast<std::size_t>(index)];
  }

  const Result& result_;
  const LayerResult layer_;
  std::size_t index_;
  std::size_t most_;
  std::vector<View> views_;
  Faults& faults_;
};

void check_problems(const Result& result, Faults& faults) {
  bool error = false;
  for (const Problem& problem : result.problems()) {
    error = error || problem.severity == Severity::error;
    if (problem.message.empty()) faults.push_back("a problem without a message");
    if (problem.code == Code::rule_misbehaved || problem.code == Code::rule_failed)
      faults.push_back("a standard rule went wrong: " + problem.message);
  }
  if (result.ok() == error) faults.push_back("ok and problems disagree");
  for (std::size_t i = 0; error && i < result.layer_count(); ++i)
    if (result.layer(i).pages() || result.layer(i).view_count() != 0 ||
        !result.layer(i).owned().empty())
      faults.push_back("pages or views though not ok");
}

/// Every owned byte of a group has one layer and one block.
void check_disjoint(const Result& result, std::size_t most, Faults& faults) {
  std::vector<RunSet> groups(result.groups().size());
  for (std::size_t i = 0; i < result.layer_count(); ++i) {
    const LayerResult layer = result.layer(i);
    const std::optional<PageMap> pages = layer.pages();
    if (!pages || layer.group() < 0) continue;
    RunSet& all = groups[static_cast<std::size_t>(layer.group())];
    const std::vector<Part> parts = layer.owned();
    const MovingRuns owned = runs_of(parts);
    const Wide runs = Wide{pages->blocks} * static_cast<Wide>(owned.runs.size());
    if (runs + static_cast<Wide>(all.size()) > Wide{16} * static_cast<Wide>(most)) continue;
    for (std::int64_t block = 0; block < pages->blocks; ++block)
      for (std::size_t run = 0; run < owned.runs.size(); ++run) {
        const std::int64_t moved = block * owned.strides[run];
        all.push_back(
            {owned.runs[run].storage, owned.runs[run].begin + moved, owned.runs[run].end + moved});
      }
  }
  for (RunSet& group : groups)
    if (unite(group)) faults.push_back("two layers or blocks of a group own one byte");
}

/// All but that layers and blocks are apart.
Faults faults_beside_sharing(const Result& result, std::size_t most) {
  Faults faults;
  check_problems(result, faults);
  for (std::size_t i = 0; result.ok() && i < result.layer_count(); ++i)
    LayerPromises(result, i, most, faults).check();
  return faults;
}

bool same_ranges(const Part& a, const Part& b) {
  return a.storage == b.storage && a.base == b.base && a.block_stride == b.block_stride &&
         std::equal(a.ranges.begin(), a.ranges.end(), b.ranges.begin(), b.ranges.end());
}

/// Pages do not depend on the profile.
void check_same_pages(const Result& native, const Result& other, Faults& faults) {
  if (native.chunk_tokens() != other.chunk_tokens()) faults.push_back("another chunk by profile");
  for (std::size_t i = 0; i < native.layer_count(); ++i) {
    const auto a = native.layer(i).pages(), b = other.layer(i).pages();
    if (a.has_value() != b.has_value()) return faults.push_back("other pages by profile");
    if (!a) continue;
    if (a->blocks != b->blocks || a->block_bytes != b->block_bytes || a->slots != b->slots ||
        a->kernel_pages != b->kernel_pages || a->tokens != b->tokens || a->opaque != b->opaque ||
        a->declared != b->declared)
      faults.push_back("other numbers of the page by profile");
    if (!std::equal(a->parts.begin(), a->parts.end(), b->parts.begin(), b->parts.end(),
                    same_ranges))
      faults.push_back("other parts by profile");
  }
}

bool same_owned(const Result& a, const Result& b) {
  if (a.layer_count() != b.layer_count()) return false;
  for (std::size_t i = 0; i < a.layer_count(); ++i) {
    const std::vector<Part> x = a.layer(i).owned(), y = b.layer(i).owned();
    if (a.layer(i).group() != b.layer(i).group() ||
        !std::equal(x.begin(), x.end(), y.begin(), y.end(), same_ranges))
      return false;
  }
  return true;
}

/// A profile may refuse to show a page, nothing else.
void check_profile(const Host& host, const Result& native, Profile profile, std::size_t most,
                   Faults& faults) {
  EditOptions options;
  options.profile = profile;
  const Result other = host.edit(native.registration(), options);
  const Faults found = faults_beside_sharing(other, most);
  faults.insert(faults.end(), found.begin(), found.end());
  const bool both = other.ok() && native.ok();
  if (both) check_same_pages(native, other, faults);
  if (other.ok() && !(both && same_owned(native, other))) check_disjoint(other, most, faults);
  for (const Problem& problem : other.problems())
    if (native.ok() && problem.severity == Severity::error && problem.code != Code::profile)
      faults.push_back("served in native and refused in " + std::string(to_text(profile)) + ": " +
                       problem.message);
}

}  // namespace

std::vector<std::string> broken_promises(const Result& result, std::size_t most) {
  Faults faults = faults_beside_sharing(result, most);
  if (result.ok()) check_disjoint(result, most, faults);
  return faults;
}

std::vector<std::string> broken_promises(const Host& host, const Result& native, std::size_t most) {
  Faults faults = broken_promises(native, most);
  for (const Profile profile : {Profile::packed, Profile::bytes, Profile::lmcache})
    check_profile(host, native, profile, most, faults);
  return faults;
}

std::vector<std::string> broken_texts(const Host& host, const Result& native) {
  Faults faults;
  const std::string text = write_registration(native.registration().data());
  const Expected<Registration> read = read_registration(text);
  if (!read) {  // names given twice, say: such a registration is refused as well
    if (native.ok()) faults.push_back("what was written cannot be read: " + read.error().text());
    return faults;
  }
  if (write_registration(read->data()) != text)
    faults.push_back("what was written is read as something else");
  const std::string report = write_report(native);
  if (write_report(host.edit(*read)) != report)
    faults.push_back("another report after writing and reading");
  return faults;
}

}  // namespace kvedit::reference
