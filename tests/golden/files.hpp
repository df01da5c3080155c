#pragma once

#include <cstdint>
#include <map>
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

struct ExpectedLayer {
  std::string outcome;  ///< empty: served as any other
  std::int64_t blocks = 0, kernel_pages = 0, slots = 0, tokens = 0;
  std::vector<ExpectedPart> parts;
  std::map<std::string, std::vector<std::pair<std::int64_t, std::int64_t>>> owned;  ///< of block 0
};

struct ExpectedReport {
  std::map<std::string, ExpectedLayer> layers;
  std::set<std::string> refused_as_one_of;
};

/// Names of the given registrations, without extension, sorted.
std::vector<std::string> registration_names();

/// Text of a given registration.
std::string registration_text(const std::string& name);

ExpectedReport expected_report(const std::string& name);

}  // namespace kvedit::golden
