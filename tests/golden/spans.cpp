#include "spans.hpp"

#include <algorithm>

namespace kvedit::golden {

std::int64_t Spans::bytes() const {
  std::int64_t sum = 0;
  for (const Span& run : runs) sum += run.end - run.begin;
  return sum;
}

Spans united(std::vector<Span> runs) {
  std::sort(runs.begin(), runs.end());
  Spans spans;
  for (const Span& run : runs) {
    if (run.begin == run.end) continue;
    Span* last = spans.runs.empty() ? nullptr : &spans.runs.back();
    if (last == nullptr || last->storage != run.storage || run.begin > last->end) {
      spans.runs.push_back(run);
      continue;
    }
    spans.twice |= run.begin < last->end;
    last->end = std::max(last->end, run.end);
  }
  return spans;
}

Spans united(const Spans& a, const Spans& b) {
  std::vector<Span> runs = a.runs;
  runs.insert(runs.end(), b.runs.begin(), b.runs.end());
  Spans both = united(std::move(runs));
  both.twice |= a.twice || b.twice;
  return both;
}

bool covers(const Spans& outer, const Spans& inner) {
  return std::all_of(inner.runs.begin(), inner.runs.end(), [&](const Span& run) {
    return std::any_of(outer.runs.begin(), outer.runs.end(), [&](const Span& other) {
      return other.storage == run.storage && other.begin <= run.begin && run.end <= other.end;
    });
  });
}

Spans moved(Spans spans, std::int64_t bytes) {
  for (Span& run : spans.runs) {
    run.begin += bytes;
    run.end += bytes;
  }
  return spans;
}

Spans spans_of(const std::vector<Part>& parts, std::int64_t block) {
  std::vector<Span> runs;
  for (const Part& part : parts)
    for (const Range& range : part.ranges) {
      const std::int64_t begin = part.base + block * part.block_stride + range.offset;
      runs.push_back({part.storage, begin, begin + range.length});
    }
  return united(std::move(runs));
}

Spans spans_of(const std::vector<ExpectedPart>& parts, std::int64_t block,
               const RegistrationData& data) {
  std::vector<Span> runs;
  for (const ExpectedPart& part : parts)
    for (const auto& [offset, length] : part.ranges) {
      const std::int64_t begin = part.base + block * part.block_stride + offset;
      runs.push_back({storage_index(data, part.storage), begin, begin + length});
    }
  return united(std::move(runs));
}

namespace {

struct Step {
  std::int64_t stride;  // bytes
  std::int64_t extent;
};

/// The axes beside the block axis, from the innermost in memory outwards.
std::vector<Step> steps_of(const View& view) {
  std::vector<Step> steps;
  for (std::size_t i = 0; i < view.shape.size(); ++i)
    if (i != view.block_axis && view.shape[i] != 1)
      steps.push_back({view.stride[i] * view.dtype->itemsize, view.shape[i]});
  std::sort(steps.begin(), steps.end(),
            [](const Step& a, const Step& b) { return a.stride < b.stride; });
  return steps;
}

}  // namespace

Spans spans_of(const View& view, std::int64_t block) {
  const std::int64_t item = view.dtype->itemsize;
  std::int64_t run = item;
  std::vector<std::int64_t> starts{view.storage_offset * item +
                                   block * view.stride[view.block_axis] * item};
  for (const Step& step : steps_of(view)) {
    if (starts.size() == 1 && step.stride == run) {
      run *= step.extent;
      continue;
    }
    std::vector<std::int64_t> more;
    more.reserve(starts.size() * static_cast<std::size_t>(step.extent));
    for (std::int64_t i = 0; i < step.extent; ++i)
      for (const std::int64_t start : starts) more.push_back(start + i * step.stride);
    starts = std::move(more);
  }
  std::vector<Span> runs;
  for (const std::int64_t start : starts) runs.push_back({view.storage, start, start + run});
  return united(std::move(runs));
}

std::int32_t storage_index(const RegistrationData& data, const std::string& name) {
  for (std::size_t i = 0; i < data.storages.size(); ++i)
    if (data.storages[i].name == name) return static_cast<std::int32_t>(i);
  return -1;
}

}  // namespace kvedit::golden
