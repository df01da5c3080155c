#include "trial.hpp"

#include <algorithm>
#include <cstring>
#include <limits>

#include "naive.hpp"

namespace kvedit::verify {
namespace {

constexpr std::int64_t margin = 256;
constexpr std::int64_t memory_page = 4096;

void touch(const Memory& memory, const Runs& runs, Runs& touched) {
  for (const Run& run : runs) {
    const auto end =
        static_cast<std::int64_t>(memory.storage(static_cast<std::size_t>(run.storage)).size());
    const std::int64_t begin = std::max<std::int64_t>(0, run.begin - margin);
    const std::int64_t length = std::min(end, run.end() + margin) - begin;
    if (length > 0) touched.push_back({run.storage, begin, length});
  }
}

// A set is made of it when it has grown a good deal: most of it is the same bytes again.
void tidy(Runs& touched, std::size_t& tidied) {
  if (touched.size() < 2 * tidied + 4096) return;
  make_set(touched);
  tidied = touched.size();
}

std::vector<std::int64_t> ids_of(const Move& move) {
  std::vector<std::int64_t> ids = move.from;
  ids.insert(ids.end(), move.to.begin(), move.to.end());
  return ids;
}

Runs shown_by(const std::vector<View>& views, std::int64_t block) {
  Runs runs;
  for (const View& view : views) Elements::of(view).append_entries(view.block_axis, block, 1, runs);
  return runs;
}

// The first fault of a kind; the others say the same with other numbers.
void add_fault(std::vector<std::string>& faults, const std::string& kind, const std::string& more) {
  const bool known = std::any_of(faults.begin(), faults.end(), [&](const std::string& fault) {
    return fault.compare(0, kind.size(), kind) == 0;
  });
  if (!known) faults.push_back(kind + ": " + more);
}

std::string of(std::int64_t some, std::int64_t all) {
  return std::to_string(some) + " of " + std::to_string(all);
}

}  // namespace

std::int64_t cost_of_block(const LayerTruth& truth) {
  std::int64_t bytes = 0;
  for (const Run& run : truth.owned(0)) bytes += run.length + 2 * margin + memory_page;
  return bytes;
}

Expected<Trial> Trial::set_up(const Bench& bench, std::vector<Moving> moving, Company company) {
  Runs touched;
  std::size_t tidied = 0;
  for (const Moving& each : moving)
    for (const std::size_t layer : each.layers) {
      tidy(touched, tidied);
      const LayerTruth& truth = bench.truths[layer];
      for (const std::int64_t id : each.move.touched(each.blocks))
        touch(bench.memory, truth.owned(id), touched);
      if (company == Company::alone && can_be_tried(truth, each.move))
        for (const std::int64_t id : ids_of(each.move))
          touch(bench.memory, entry_of(truth, id), touched);
    }
  make_set(touched);
  Expected<Stage> stage = Stage::of(bench.memory, std::move(touched), bench.seed);
  if (!stage) return stage.error();
  return Trial(bench, std::move(moving), company, *std::move(stage));
}

bool Trial::on_stage(const Runs& runs) const {
  return std::all_of(runs.begin(), runs.end(),
                     [&](const Run& run) { return stage_.on_stage(run); });
}

Expected<Runs> Trial::listed(const Moving& moving, Order order,
                             const std::vector<std::int64_t>& ids) const {
  const std::vector<std::uint64_t> bases = bench_.memory.bases();
  const auto extents = bench_.answers.addresses(moving.layers, ids, bases, order);
  if (!extents) return extents.error();
  std::int64_t expected = 0;
  for (const std::size_t layer : moving.layers)
    expected += total(truth(layer).payload(0)) * static_cast<std::int64_t>(ids.size());
  Runs runs;
  std::int64_t listed = 0;
  for (const Extent& each : *extents) {
    const std::size_t storage = static_cast<std::size_t>(each.storage);
    if (storage >= bases.size() || each.address < bases[storage] ||
        each.length > static_cast<std::uint64_t>(expected - listed))
      return Error{"", "it lists more than the " + std::to_string(expected) +
                           " bytes of these blocks, or none of any storage"};
    const Run run{each.storage, static_cast<std::int64_t>(each.address - bases[storage]),
                  static_cast<std::int64_t>(each.length)};
    if (!stage_.on_stage(run))
      return Error{"", "it lists " + std::to_string(run.length) + " bytes at byte " +
                           std::to_string(run.begin) + " of storage " +
                           std::to_string(run.storage) + ", far from these blocks"};
    listed += run.length;
    runs.push_back(run);
  }
  if (listed == expected) return runs;
  return Error{"", "it lists " + of(listed, expected) + " bytes"};
}

Expected<Trial::Stored> Trial::store(const Moving& moving, Order order, bool garbage) const {
  const Expected<Runs> from = listed(moving, order, moving.move.from);
  if (!from) return from.error();
  Expected<Runs> to = listed(moving, order, moving.move.to);
  if (!to) return to.error();
  Stored stored{{}, *std::move(to)};
  stored.bytes.reserve(static_cast<std::size_t>(total(*from)));
  for (const Run& run : *from) {
    const auto bytes = stage_.bytes(run);
    stored.bytes.insert(stored.bytes.end(), bytes.begin(), bytes.end());
  }
  for (const Run& run : *from) stage_.wipe(run, garbage);
  return stored;
}

void Trial::by_addresses(Order order, bool garbage, Report& report) {
  stage_.paint();
  std::vector<Stored> all;
  for (const Moving& each : moving_) {
    Expected<Stored> stored = store(each, order, garbage);
    if (stored)
      all.push_back(*std::move(stored));
    else
      add_fault(report.faults, "page map of group " + std::to_string(each.group),
                stored.error().text());
  }
  for (const Stored& each : all) {
    auto from = each.bytes.begin();
    for (const Run& run : each.to) {
      std::copy_n(from, run.length, stage_.bytes(run).begin());
      from += run.length;
    }
  }
  for (const Moving& each : moving_) expect_move(each, garbage);
  judge_all(&LayerCheck::right_bytes, report);
}

void Trial::carry(const Runs& from, const Runs& to) const {
  std::vector<std::byte> bytes;
  bytes.reserve(static_cast<std::size_t>(total(from)));
  for (const Run& run : from) {
    const auto some = stage_.bytes(run);
    bytes.insert(bytes.end(), some.begin(), some.end());
  }
  for (const Run& run : from) stage_.wipe(run, false);
  auto next = bytes.begin();
  for (const Run& run : to) {
    std::copy_n(next, run.length, stage_.bytes(run).begin());
    next += run.length;
  }
}

std::string Trial::fault_of_view(std::size_t layer, std::int64_t block, const Runs& shown) const {
  const std::string at = "of block " + std::to_string(block);
  Runs view = shown;
  if (make_set(view)) return "a byte " + at + " is shown twice";
  Runs payload = truth(layer).payload(block);
  make_set(payload);
  if (!contains(view, payload))
    return of(shared(view, payload), total(payload)) + " payload bytes " + at + " are shown";
  const Runs owned = truth(layer).owned(block);
  if (!contains(owned, view))
    return std::to_string(total(view) - shared(owned, view)) + " bytes shown " + at +
           " are not its own";
  return "";
}

void Trial::carry_views(std::size_t layer, const Move& move, LayerCheck& check) const {
  const std::vector<View> views = bench_.answers.views(bench_.result.layer(layer));
  for (const View& view : views)
    if (view.shape[view.block_axis] != truth(layer).facts.blocks)
      return add_fault(check.faults, "view",
                       std::to_string(view.shape[view.block_axis]) + " entries for " +
                           std::to_string(truth(layer).facts.blocks) + " blocks");
  for (const std::int64_t id : ids_of(move)) {
    const std::string fault = fault_of_view(layer, id, shown_by(views, id));
    if (!fault.empty()) return add_fault(check.faults, "view", fault);
  }
  for (std::size_t i = 0; i < move.pairs(); ++i) {
    const Runs from = shown_by(views, move.from[i]);
    const Runs to = shown_by(views, move.to[i]);
    if (total(from) != total(to) || !on_stage(from) || !on_stage(to))
      return add_fault(check.faults, "view", "blocks of different sizes");
    carry(from, to);
  }
}

void Trial::by_views(Report& report) {
  stage_.paint();
  for (const Moving& each : moving_)
    for (const std::size_t layer : each.layers) carry_views(layer, each.move, report.layers[layer]);
  for (const Moving& each : moving_) accept_padding(each);
  for (const Moving& each : moving_) expect_move(each, false);
  judge_all(&LayerCheck::right_in_views, report);
}

void Trial::carry_entries(std::size_t layer, const Move& move, NaiveReading& naive) const {
  for (std::size_t i = 0; i < move.pairs(); ++i) {
    const Runs from = entry_of(truth(layer), move.from[i]);
    carry(from, entry_of(truth(layer), move.to[i]));
    naive.copied_bytes += total(from);
  }
}

void Trial::by_entries(Report& report) {
  stage_.paint();
  for (const Moving& each : moving_)
    for (const std::size_t layer : each.layers) {
      NaiveReading& naive = report.layers[layer].naive;
      naive = naive_reading(truth(layer), each.move);
      if (naive.tried) carry_entries(layer, each.move, naive);
    }
  for (const Moving& each : moving_) expect_move(each, false);
  report.compared_bytes += stage_.size();
  for (const Moving& each : moving_)
    for (const std::size_t layer : each.layers) {
      LayerCheck& check = report.layers[layer];
      if (!check.naive.tried) continue;
      check.naive.right_bytes = right_bytes(layer, each.move);
      if (!check.naive.is_block && check.naive.right_bytes == check.payload_bytes)
        add_fault(check.faults, "control",
                  "the naive reading is wrong here, yet all its bytes came back right: this check "
                  "cannot fail");
    }
}

void Trial::expect_move(const Moving& moving, bool garbage) {
  for (const std::size_t layer : moving.layers)
    for (const std::int64_t id : moving.move.from)
      for (const Run& run : truth(layer).payload(id))
        if (stage_.on_stage(run)) stage_.expect_wiped(run, garbage);
  for (const std::size_t layer : moving.layers)
    for (std::size_t i = 0; i < moving.move.pairs(); ++i)
      for (const Copy& copy : pair_up(truth(layer).payload(moving.move.from[i]),
                                      truth(layer).payload(moving.move.to[i])))
        if (stage_.on_stage(copy.to)) stage_.expect(copy);
}

void Trial::accept_padding(const Moving& moving) {
  for (const std::size_t layer : moving.layers)
    for (const std::int64_t id : ids_of(moving.move))
      for (const Run& run : truth(layer).owned(id))
        if (stage_.on_stage(run)) stage_.accept(run);
}

std::int64_t Trial::right_bytes(std::size_t layer, const Move& move) const {
  std::int64_t right = 0;
  for (const std::int64_t id : move.to)
    for (const Run& run : truth(layer).payload(id))
      if (stage_.on_stage(run)) right += stage_.right(run);
  return right;
}

std::int64_t Trial::damaged_bytes(std::size_t layer, const Moving& moving) const {
  std::int64_t wrong = 0;
  for (const std::int64_t id : moving.move.touched(moving.blocks))
    for (const Run& run : truth(layer).owned(id)) wrong += stage_.wrong(run);
  for (const std::int64_t id : moving.move.to)
    for (const Run& run : truth(layer).payload(id)) wrong -= stage_.wrong(run);
  return wrong;
}

void Trial::judge(const Moving& moving, std::int64_t LayerCheck::*right, Report& report) const {
  const bool alone = company_ == Company::alone;
  const std::string which = std::string(alone ? "" : "all groups at once, ") +
                            (right == &LayerCheck::right_bytes ? "page map" : "view");
  for (const std::size_t layer : moving.layers) {
    LayerCheck& check = report.layers[layer];
    const std::int64_t payload =
        total(truth(layer).payload(0)) * static_cast<std::int64_t>(moving.move.pairs());
    const std::int64_t came_back = right_bytes(layer, moving.move);
    const std::int64_t damaged = damaged_bytes(layer, moving);
    if (alone) check.*right = std::min(check.*right, came_back);
    if (alone) check.damaged_bytes = std::max(check.damaged_bytes, damaged);
    if (came_back != payload)
      add_fault(check.faults, which, of(came_back, payload) + " payload bytes came back right");
    if (damaged != 0)
      add_fault(
          check.faults, which + ", other bytes",
          std::to_string(damaged) + " bytes of padding, neighbours or wiped blocks are wrong");
  }
}

void Trial::judge_all(std::int64_t LayerCheck::*right, Report& report) const {
  report.compared_bytes += stage_.size();
  for (const Moving& each : moving_) judge(each, right, report);
  if (const std::int64_t wrong = stage_.wrong(); wrong != 0 && report.ok())
    add_fault(report.faults, "around the blocks",
              std::to_string(wrong) + " bytes changed that no moved block owns");
}

}  // namespace kvedit::verify
