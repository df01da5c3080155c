#include "runs.hpp"

#include <algorithm>
#include <cstddef>

namespace kvedit::verify {

void append(Runs& runs, const Run& run) {
  if (!runs.empty() && runs.back().storage == run.storage && runs.back().end() == run.begin)
    runs.back().length += run.length;
  else
    runs.push_back(run);
}

std::int64_t total(const Runs& runs) {
  std::int64_t bytes = 0;
  for (const Run& run : runs) bytes += run.length;
  return bytes;
}

bool make_set(Runs& runs) {
  std::sort(runs.begin(), runs.end());
  bool twice = false;
  std::size_t last = 0;
  for (std::size_t i = 1; i < runs.size(); ++i) {
    if (runs[i].storage == runs[last].storage && runs[i].begin <= runs[last].end()) {
      twice |= runs[i].begin < runs[last].end();
      runs[last].length = std::max(runs[last].end(), runs[i].end()) - runs[last].begin;
    } else {
      runs[++last] = runs[i];
    }
  }
  if (!runs.empty()) runs.resize(last + 1);
  return twice;
}

bool contains(const Runs& outer, const Runs& inner) { return shared(outer, inner) == total(inner); }

std::int64_t shared(const Runs& one, const Runs& other) {
  std::int64_t bytes = 0;
  for (auto a = one.begin(), b = other.begin(); a != one.end() && b != other.end();) {
    if (a->storage == b->storage)
      bytes +=
          std::max<std::int64_t>(0, std::min(a->end(), b->end()) - std::max(a->begin, b->begin));
    const bool a_first = a->storage != b->storage ? a->storage < b->storage : a->end() < b->end();
    a_first ? static_cast<void>(++a) : static_cast<void>(++b);
  }
  return bytes;
}

std::vector<Copy> pair_up(const Runs& from, const Runs& to) {
  std::vector<Copy> copies;
  std::int64_t done_a = 0;
  std::int64_t done_b = 0;
  for (auto a = from.begin(), b = to.begin(); a != from.end() && b != to.end();) {
    const std::int64_t length = std::min(a->length - done_a, b->length - done_b);
    copies.push_back(
        {{a->storage, a->begin + done_a, length}, {b->storage, b->begin + done_b, length}});
    done_a += length;
    done_b += length;
    if (done_a == a->length) ++a, done_a = 0;
    if (done_b == b->length) ++b, done_b = 0;
  }
  return copies;
}

}  // namespace kvedit::verify
