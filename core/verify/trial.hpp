#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include <kvedit/addresses.hpp>
#include <kvedit/error.hpp>

#include "layer_truth.hpp"
#include "memory.hpp"
#include "moves.hpp"
#include "stage.hpp"
#include "verify.hpp"

namespace kvedit::verify {

/// Layers of one group whose blocks move in one trial.
struct Moving {
  std::int32_t group = 0;
  std::int64_t blocks = 0;
  std::vector<std::size_t> layers;
  Move move;
};

/// What all trials work on.
struct Bench {
  const Result& result;
  const Answers& answers;
  const Memory& memory;
  const std::vector<LayerTruth>& truths;  ///< by layer of the result
  std::uint64_t seed;
};

/// One group alone gives the figures of a report; groups together add faults only.
enum class Company { alone, together };

/// Bytes that a trial touches for one block of a layer, whole memory pages.
std::int64_t cost_of_block(const LayerTruth& truth);

/// A stage and what is done on it: store, wipe, bring back under other ids, compare.
class Trial {
 public:
  static Expected<Trial> set_up(const Bench& bench, std::vector<Moving> moving, Company company);

  /// Through the page maps; wiped with zeros or with garbage.
  void by_addresses(Order order, bool garbage, Report& report);
  /// Element by element through the views, after a look at which bytes they show.
  void by_views(Report& report);
  /// Entry *b* for block *b*.
  void by_entries(Report& report);

  std::int64_t size() const { return stage_.size(); }

 private:
  Trial(const Bench& bench, std::vector<Moving> moving, Company company, Stage stage)
      : bench_(bench), moving_(std::move(moving)), company_(company), stage_(std::move(stage)) {}

  struct Stored {
    std::vector<std::byte> bytes;
    Runs to;
  };

  const LayerTruth& truth(std::size_t layer) const { return bench_.truths[layer]; }
  Expected<Runs> listed(const Moving& moving, Order order,
                        const std::vector<std::int64_t>& ids) const;
  Expected<Stored> store(const Moving& moving, Order order, bool garbage) const;
  void carry(const Runs& from, const Runs& to) const;
  bool on_stage(const Runs& runs) const;

  void expect_move(const Moving& moving, bool garbage);
  void accept_padding(const Moving& moving);
  std::string fault_of_view(std::size_t layer, std::int64_t block, const Runs& shown) const;
  void carry_views(std::size_t layer, const Move& move, LayerCheck& check) const;
  void carry_entries(std::size_t layer, const Move& move, NaiveReading& naive) const;

  std::int64_t right_bytes(std::size_t layer, const Move& move) const;
  std::int64_t damaged_bytes(std::size_t layer, const Moving& moving) const;
  void judge(const Moving& moving, std::int64_t LayerCheck::*right, Report& report) const;
  void judge_all(std::int64_t LayerCheck::*right, Report& report) const;

  Bench bench_;
  std::vector<Moving> moving_;
  Company company_;
  Stage stage_;
};

}  // namespace kvedit::verify
