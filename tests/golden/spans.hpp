#pragma once

#include <compare>
#include <cstdint>
#include <vector>

#include <kvedit/result.hpp>

#include "files.hpp"

namespace kvedit::golden {

/// Bytes `begin` up to but without `end` of a storage.
struct Span {
  std::int32_t storage = 0;
  std::int64_t begin = 0;
  std::int64_t end = 0;

  auto operator<=>(const Span&) const = default;
};

/// A byte set: sorted, neighbours merged; `twice` when a byte was there twice before.
struct Spans {
  std::vector<Span> runs;
  bool twice = false;

  std::int64_t bytes() const;
  bool operator==(const Spans& other) const { return runs == other.runs; }
};

Spans united(std::vector<Span> runs);
Spans united(const Spans& a, const Spans& b);
bool covers(const Spans& outer, const Spans& inner);
Spans moved(Spans spans, std::int64_t bytes);

Spans spans_of(const std::vector<Part>& parts, std::int64_t block);
Spans spans_of(const std::vector<ExpectedPart>& parts, std::int64_t block,
               const RegistrationData& data);

/// Bytes of index `block` of the block axis: every run of the innermost axes that lie without a
/// gap.
Spans spans_of(const View& view, std::int64_t block);

std::int32_t storage_index(const RegistrationData& data, const std::string& name);

}  // namespace kvedit::golden
