#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace kvedit::golden {

struct ExpectedPart {
  std::string storage;
  std::int64_t base = 0;
  std::int64_t block_stride = 0;
  std::vector<std::pair<std::int64_t, std::int64_t>> ranges;  ///< offset, length
};

struct ExpectedView {
  std::vector<std::int64_t> shape, stride;
  std::string dtype;
  std::vector<std::string> axes = {};  ///< empty: not stated
};

struct ExpectedLayer {
  std::string outcome;  ///< empty: served as any other
  std::int64_t blocks = 0, kernel_pages = 0, slots = 0, tokens = 0;
  std::vector<ExpectedPart> parts;
  std::map<std::string, std::vector<std::pair<std::int64_t, std::int64_t>>> owned;  ///< of block 0
  /// By profile, where the case states it: one for each tensor.
  std::map<std::string, std::vector<ExpectedView>> views;
};

struct ExpectedProblem {
  std::string code, layer;
  std::int64_t group = -1;
  std::map<std::string, std::string> facts;  ///< numbers as text
  std::vector<std::string> says;             ///< words of the message
};

struct ExpectedReport {
  std::map<std::string, ExpectedLayer> layers;
  std::set<std::string> refused_as_one_of;
  std::vector<ExpectedProblem> problems;  ///< of a refused registration, all of them, if stated
  std::optional<std::int64_t> chunk_tokens;
  std::set<std::string> refused_profiles;  ///< served, but not in these
};

/// Names of the given registrations, without extension, and those of tests/field, which begin with
/// `field/`; sorted.
std::vector<std::string> registration_names();

/// Text of a given registration.
std::string registration_text(const std::string& name);

ExpectedReport expected_report(const std::string& name);

}  // namespace kvedit::golden
