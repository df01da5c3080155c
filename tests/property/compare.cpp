#include "compare.hpp"

#include <algorithm>

#include <kvedit/addresses.hpp>

namespace kvedit::property {
namespace {

using reference::Bytes;
using reference::Fate;
using reference::LayerTruth;
using reference::Truth;

using Faults = std::vector<std::string>;

Bytes bytes_of(const std::vector<Part>& parts, std::int64_t block, Faults& faults) {
  Bytes bytes;
  std::int64_t count = 0;
  for (const Part& part : parts)
    for (const Range& range : part.ranges) count += range.length;
  bytes.reserve(static_cast<std::size_t>(std::max<std::int64_t>(count, 0)));
  for (const Part& part : parts)
    for (const Range& range : part.ranges)
      for (std::int64_t i = 0; i < range.length; ++i)
        bytes.push_back({part.storage, part.base + block * part.block_stride + range.offset + i});
  if (reference::sort_and_unite(bytes)) faults.push_back("parts name a byte twice");
  return bytes;
}

Bytes view_bytes(const View& view, std::int64_t block, Faults& faults) {
  Bytes bytes;
  const std::int64_t item = view.dtype->itemsize;
  std::vector<std::int64_t> index(view.shape.size(), 0);
  index[view.block_axis] = block;
  while (true) {
    std::int64_t element = view.storage_offset;
    for (std::size_t i = 0; i < index.size(); ++i) element += index[i] * view.stride[i];
    for (std::int64_t byte = 0; byte < item; ++byte)
      bytes.push_back({view.storage, element * item + byte});
    std::size_t last = index.size();
    while (last > 0) {
      if (last - 1 == view.block_axis) {
        --last;
        continue;
      }
      if (++index[last - 1] < view.shape[last - 1]) break;
      index[--last] = 0;
    }
    if (last == 0) break;
  }
  if (reference::sort_and_unite(bytes)) faults.push_back("a view names a byte twice");
  return bytes;
}

std::string at(std::int64_t block) { return " of block " + std::to_string(block); }

void compare_views(const LayerTruth& truth, const LayerResult& layer, Faults& faults) {
  std::vector<View> views;
  for (std::size_t i = 0; i < layer.view_count(); ++i) views.push_back(layer.view(i));
  if (views.empty()) {
    faults.push_back("no view");
    return;
  }
  for (const View& view : views) {
    if (view.shape.size() != view.stride.size() || view.axes.size() != view.shape.size() ||
        view.block_axis >= view.shape.size()) {
      faults.push_back("a view with ranks that differ");
      return;
    }
    if (view.shape[view.block_axis] != truth.blocks) {
      faults.push_back("a view whose block axis has " +
                       std::to_string(view.shape[view.block_axis]) + " entries");
      return;
    }
    if (view.axes[view.block_axis] != Role::block) faults.push_back("a block axis of another role");
  }
  for (std::int64_t block = 0; block < truth.blocks; ++block) {
    Bytes seen = view_bytes(views.front(), block, faults);
    for (std::size_t i = 1; i < views.size(); ++i) {
      const Bytes bytes = view_bytes(views[i], block, faults);
      seen.insert(seen.end(), bytes.begin(), bytes.end());
    }
    if (reference::sort_and_unite(seen)) faults.push_back("two views name a byte" + at(block));
    const auto number = static_cast<std::size_t>(block);
    if (!reference::contains(seen, truth.payload[number]))
      faults.push_back("views miss payload" + at(block));
    if (!reference::contains(truth.owned[number], seen))
      faults.push_back("views reach bytes not owned" + at(block));
  }
}

void compare_pages(const LayerTruth& truth, const PageMap& pages, bool claimed, Faults& faults) {
  const auto differ = [&](const char* what, std::int64_t is, std::int64_t should) {
    if (is != should)
      faults.push_back(std::string(what) + " " + std::to_string(is) + ", not " +
                       std::to_string(should));
  };
  differ("blocks", pages.blocks, truth.blocks);
  differ("tokens", pages.tokens, truth.tokens);
  if (truth.kernel_pages != 0) differ("kernel pages", pages.kernel_pages, truth.kernel_pages);
  if (truth.recurrent && !claimed)
    differ("slots", pages.slots, 1);  // a recurrent page that no rule cuts is one state
  else if (truth.slots)
    differ("slots", pages.slots, *truth.slots);
  differ("block bytes", pages.block_bytes, static_cast<std::int64_t>(truth.payload[0].size()));
  if (pages.declared) faults.push_back("order declared, not proved");
}

void compare_addresses(const LayerTruth& truth, const Result& result, std::size_t index,
                       Faults& faults) {
  const std::size_t layers[] = {index};
  const Expected<AddressMap> map = AddressMap::make(result, layers);
  if (!map) {
    faults.push_back("no address map: " + map.error().text());
    return;
  }
  for (std::int64_t block = 0; block < truth.blocks; ++block) {
    const std::int64_t blocks[] = {block};
    const Expected<std::vector<Extent>> extents = map->extents(blocks);
    Bytes bytes;
    if (extents)
      for (const Extent& extent : *extents)
        for (std::uint64_t i = 0; i < extent.length; ++i)
          bytes.push_back({extent.storage, static_cast<std::int64_t>(extent.address + i)});
    if (!std::is_sorted(bytes.begin(), bytes.end())) std::sort(bytes.begin(), bytes.end());
    if (bytes != truth.payload[static_cast<std::size_t>(block)])
      faults.push_back("addresses are not the payload" + at(block));
  }
}

void compare_layer(const LayerTruth& truth, const Result& result, std::size_t index,
                   Faults& faults) {
  const LayerResult layer = result.layer(index);
  const std::optional<PageMap> pages = layer.pages();
  if (truth.fate == Fate::excluded) {
    if (layer.outcome() != Outcome::excluded) faults.push_back("not excluded: " + truth.why);
    if (layer.reason() != truth.why)
      faults.push_back("reason \"" + std::string(layer.reason()) + "\", not \"" + truth.why + "\"");
    if (pages || layer.view_count() != 0) faults.push_back("an excluded layer with pages");
    return;
  }
  if (!pages) {
    faults.push_back("no pages");
    return;
  }
  if (truth.scratch != (layer.outcome() == Outcome::scratch)) faults.push_back("scratch or not");
  compare_pages(truth, *pages, !layer.rule().empty(), faults);
  const std::vector<Part> parts(pages->parts.begin(), pages->parts.end()), owned = layer.owned();
  for (std::int64_t block = 0; block < truth.blocks; ++block) {
    const auto number = static_cast<std::size_t>(block);
    if (bytes_of(parts, block, faults) != truth.payload[number])
      faults.push_back("payload differs" + at(block));
    if (bytes_of(owned, block, faults) != truth.owned[number])
      faults.push_back("owned bytes differ" + at(block));
  }
  compare_views(truth, layer, faults);
  compare_addresses(truth, result, index, faults);
}

Faults compare_served(const Truth& truth, const Result& result, Tally& tally) {
  Faults faults;
  if (truth.any(Fate::refused)) {
    for (const LayerTruth& layer : truth.layers)
      if (layer.fate == Fate::refused) faults.push_back(layer.name + ": served, but " + layer.why);
    return faults;
  }
  if (result.layer_count() != truth.layers.size()) return {"other number of layers"};
  for (std::size_t i = 0; i < truth.layers.size(); ++i) {
    const LayerTruth& layer = truth.layers[i];
    if (layer.fate == Fate::undetermined) continue;
    Faults of_layer;
    if (layer.name != result.layer(i).name()) of_layer.push_back("other order of layers");
    compare_layer(layer, result, i, of_layer);
    for (const std::string& fault : of_layer) faults.push_back(layer.name + ": " + fault);
    ++tally.layers;
    if (layer.kernel_pages > 1) ++tally.kernel_paged;
  }
  ++tally.served;
  return faults;
}

std::set<Code> error_codes(const Result& result) {
  std::set<Code> codes;
  for (const Problem& problem : result.problems())
    if (problem.severity == Severity::error) codes.insert(problem.code);
  return codes;
}

/// No rule says that the kernel pages of the layer are consecutive, for a reason with a name.
bool of_no_rule(const Truth& truth, const Problem& problem, Tally& tally) {
  if (problem.code != Code::granularity_mismatch || !problem.rule.empty()) return false;
  for (const LayerTruth& layer : truth.layers)
    if (layer.name == problem.layer && layer.kernel_pages != 1 && !layer.no_rule.empty()) {
      ++tally.no_rule[layer.no_rule];
      return true;
    }
  return false;
}

/// A refusal of what the reference serves: allowed only where rules and profiles come in.
Faults judge_refusal(const Truth& truth, const Result& result, Excuse excuse, Tally& tally) {
  bool kernel_paged = false;
  bool accident = excuse == Excuse::accident;
  std::set<Code> allowed;
  for (const LayerTruth& layer : truth.layers) {
    kernel_paged |= layer.fate == Fate::served && layer.kernel_pages != 1;
    accident |= layer.fate == Fate::served && layer.blocks == 1;  // any axis may hold one block
    if (layer.may_refuse) allowed.insert(layer.codes.begin(), layer.codes.end());
  }
  if (kernel_paged && excuse == Excuse::accident) allowed.insert(Code::granularity_mismatch);
  const std::set<Code> of_a_claim{Code::not_tiled, Code::block_count, Code::outside_page};
  const bool follows = error_codes(result).size() > 1;  // the layer it shares was refused
  Faults faults;
  for (const Problem& problem : result.problems())
    if (problem.severity == Severity::error && !allowed.contains(problem.code) &&
        !of_no_rule(truth, problem, tally) &&
        !(accident && !problem.rule.empty() && of_a_claim.contains(problem.code)) &&
        !(follows && problem.code == Code::missing_spec))
      faults.push_back("refused, but it is right: " + std::string(to_text(problem.code)) + ": " +
                       problem.message);
  const std::set<Code> codes = error_codes(result);
  if (codes.contains(Code::granularity_mismatch)) ++tally.unclaimed;
  return faults;
}

Faults well_formed(const Result& result) {
  Faults faults;
  for (const Problem& problem : result.problems()) {
    if (problem.message.empty()) faults.push_back("a problem without a message");
    if (problem.severity == Severity::error && problem.layer.empty() && problem.group < 0)
      faults.push_back("a problem with neither layer nor group: " + problem.message);
    if (problem.code == Code::rule_misbehaved || problem.code == Code::rule_failed)
      faults.push_back("a standard rule went wrong: " + problem.message);
  }
  if (result.ok() != error_codes(result).empty()) faults.push_back("ok and problems disagree");
  if (!result.ok())
    for (std::size_t i = 0; i < result.layer_count(); ++i)
      if (result.layer(i).pages() || result.layer(i).view_count() != 0)
        faults.push_back("pages or views though not ok");
  return faults;
}

}  // namespace

std::vector<std::string> differences(const Truth& truth, const Result& result, Excuse excuse,
                                     Tally& tally) {
  Faults faults = well_formed(result);
  Faults more;
  if (result.ok())
    more = compare_served(truth, result, tally);
  else if (truth.any(Fate::refused)) {
    ++tally.refused;
    const std::set<Code> expected = truth.codes();
    const std::set<Code> codes = error_codes(result);
    const bool known =
        std::any_of(codes.begin(), codes.end(), [&](Code code) { return expected.contains(code); });
    if (!known) ++tally.other_codes;
  } else if (truth.any(Fate::undetermined))
    ++tally.undetermined;
  else
    more = judge_refusal(truth, result, excuse, tally);
  faults.insert(faults.end(), more.begin(), more.end());
  return faults;
}

}  // namespace kvedit::property
