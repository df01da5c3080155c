#include "reference/reading.hpp"

#include <algorithm>

#include "reference/states.hpp"

namespace kvedit::reference {
namespace {

/// Axes of a tensor from the outermost in memory inwards; extent 1 aside.
std::vector<std::size_t> axes_in_memory(const Tensor& tensor) {
  std::vector<std::size_t> axes;
  for (std::size_t i = 0; i < tensor.shape.size(); ++i)
    if (tensor.shape[i] > 1) axes.push_back(i);
  std::stable_sort(axes.begin(), axes.end(), [&](std::size_t a, std::size_t b) {
    return tensor.stride[a] > tensor.stride[b];
  });
  return axes;
}

std::optional<Wide> whole(Wide dividend, Wide divisor) {
  if (divisor <= 0 || dividend <= 0 || dividend % divisor != 0) return std::nullopt;
  return dividend / divisor;
}

bool declares_padding(const Spec& spec) { return spec.page_size_padded.has_value(); }

/// `k` of the tensor `t`, by the three sources the definition names.
std::optional<Wide> pages_per_block(const Subject& s, const std::vector<std::size_t>& axes,
                                    std::size_t t) {
  const Tensor& tensor = (*s.tensors)[t];
  if (s.place && s.blocks == 1 && tensor.shape[axes[t]] == 1) return 1;  // its stride says nothing
  if (s.place)
    return whole(s.place->block_stride, Wide{tensor.stride[axes[t]]} * tensor.dtype.itemsize);
  const Spec& spec = *s.spec;
  if (spec.recurrent() || (declares_padding(spec) && !spec.unpadded_page_size_bytes))
    return whole(tensor.shape[axes[t]], s.blocks);
  Wide entry = 0;
  for (std::size_t i = 0; i < axes.size(); ++i) entry += entry_bytes((*s.tensors)[i], axes[i]);
  return whole(spec.unpadded_page_size_bytes.value_or(spec.page_size_bytes), entry);
}

bool makes_up_page(const Spec& spec, std::int64_t bytes) {
  if (spec.recurrent())
    return bytes >= state_bytes_of(spec).value_or(0) && bytes <= spec.page_size_bytes;
  return bytes == spec.page_size_bytes || bytes == spec.unpadded_page_size_bytes ||
         (declares_padding(spec) && bytes < spec.page_size_bytes);
}

/// Where a tensor's storage is in the registration.
std::vector<std::int32_t> storages_of(const Subject& s) {
  std::vector<std::int32_t> storages;
  for (const Tensor& tensor : *s.tensors) storages.push_back(find_storage(*s.data, tensor.storage));
  return storages;
}

/// The bytes of every block when `axes` carry them, `k` entries each; nothing when those of a block
/// do not make up one page.
std::optional<Reading> enumerate(const Subject& s, const std::vector<std::size_t>& axes,
                                 std::int64_t k) {
  const std::vector<std::int32_t> storages = storages_of(s);
  Reading reading{axes, k, {}, false};
  reading.raw.reserve(static_cast<std::size_t>(s.blocks));
  for (std::int64_t number = 0; number < s.blocks; ++number) {
    Bytes& block = reading.raw.emplace_back();
    if (number > 0) block.reserve(reading.raw.front().size());
    for (std::size_t t = 0; t < axes.size(); ++t)
      for (std::int64_t i = number * k; i < (number + 1) * k; ++i)
        append_entry((*s.tensors)[t], storages[t], axes[t], i, block);
    reading.twice |= sort_and_unite(block);
    if (!makes_up_page(*s.spec, static_cast<std::int64_t>(block.size()))) return std::nullopt;
  }
  return reading;
}

/// The reading by these axes if it makes up one page for every block.
std::optional<Reading> read_by(const Subject& s, const std::vector<std::size_t>& axes) {
  std::optional<Wide> k;
  for (std::size_t t = 0; t < axes.size(); ++t) {
    const std::optional<Wide> of_tensor = pages_per_block(s, axes, t);
    if (!of_tensor || (k && *k != *of_tensor)) return std::nullopt;
    k = of_tensor;
    const Wide rest = (*s.tensors)[t].shape[axes[t]] - *k * s.blocks;
    if (rest < 0 || rest >= *k) return std::nullopt;
  }
  return enumerate(s, axes, static_cast<std::int64_t>(*k));
}

/// All choices of one axis a tensor, the outermost first.
std::vector<std::vector<std::size_t>> choices(const std::vector<std::vector<std::size_t>>& axes) {
  std::vector<std::vector<std::size_t>> all{{}};
  for (const std::vector<std::size_t>& of_tensor : axes) {
    std::vector<std::vector<std::size_t>> longer;
    for (const std::vector<std::size_t>& choice : all)
      for (const std::size_t axis : of_tensor) {
        longer.push_back(choice);
        longer.back().push_back(axis);
      }
    all = std::move(longer);
  }
  return all;
}

bool heads_before_blocks(const std::string& layout) {
  return layout == "LHBNC" || layout == "BHLNC";
}

std::set<Code> no_reading_codes(const Subject& s) {
  std::set<Code> codes{Code::not_tiled, Code::block_count, Code::granularity_mismatch};
  if (s.place) codes.insert(Code::placement_mismatch);
  return codes;
}

ReadingTruth refused(std::set<Code> codes, std::string why) {
  ReadingTruth truth;
  truth.codes = std::move(codes);
  truth.why = std::move(why);
  return truth;
}

/// One block: axes of extent 1 are candidates too, and several axes may name the same bytes.
ReadingTruth find_single_block(const Subject& s) {
  std::vector<std::vector<std::size_t>> axes;
  for (const Tensor& tensor : *s.tensors) {
    axes.emplace_back();
    for (std::size_t i = 0; i < tensor.shape.size(); ++i) axes.back().push_back(i);
  }
  ReadingTruth truth;
  for (const std::vector<std::size_t>& choice : choices(axes)) {
    std::optional<Reading> reading = read_by(s, choice);
    if (!reading) continue;
    if (!truth.reading) {
      truth.reading = std::move(reading);
      continue;
    }
    if (reading->raw != truth.reading->raw) truth.undetermined = true;
    if (reading->k != truth.reading->k) truth.any_k = truth.may_refuse = true;
  }
  if (!truth.reading) return refused(no_reading_codes(s), "no axis makes up one page");
  truth.may_refuse |= heads_before_blocks(s.data->layout);
  if (truth.may_refuse) truth.codes = {Code::granularity_mismatch};
  return truth;
}

/// (a) and (b) of the definition: two readings that only the size of an axis could tell apart.
ReadingTruth judge_ambiguity(const Subject& s, const std::vector<std::size_t>& axes,
                             std::vector<std::optional<Reading>> readings, std::size_t winner) {
  const Tensor& tensor = s.tensors->front();
  ReadingTruth truth;
  if (!s.place) {
    truth.rivals = readings.size() > 1 && readings[0] && readings[1] && axes[0] > axes[1];
    const bool next = winner + 1 < readings.size() && readings[winner + 1] &&
                      readings[winner + 1]->raw != readings[winner]->raw;
    if (!s.spec->recurrent() && tensor.shape.size() == 5 && tensor.shape[axes[winner]] == 2 && next)
      return refused({Code::granularity_mismatch}, "two blocks or two planes");
    if (heads_before_blocks(s.data->layout) && readings.size() > 1 && readings[0] && readings[1]) {
      if (!s.spec->recurrent())
        return refused({Code::granularity_mismatch}, "heads or blocks outermost");
      // Without a rule the first; with a rule that names the block axis but declares no order the
      // second.
      truth.may_refuse = true;
      truth.codes = {Code::granularity_mismatch, Code::outside_page};
    }
  }
  truth.reading = std::move(readings[winner]);
  return truth;
}

ReadingTruth find_in_one_tensor(const Subject& s) {
  const std::vector<std::size_t> axes = axes_in_memory(s.tensors->front());
  std::vector<std::optional<Reading>> readings;
  for (const std::size_t axis : axes) readings.push_back(read_by(s, {axis}));
  for (std::size_t i = 0; i < readings.size(); ++i)
    if (readings[i]) return judge_ambiguity(s, axes, std::move(readings), i);
  return refused(no_reading_codes(s), "no axis makes up one page");
}

/// Several tensors: the reading whose axes are outermost in every tensor; when two readings are
/// each further out in another tensor, the text does not decide.
ReadingTruth find_in_several(const Subject& s) {
  std::vector<std::vector<std::size_t>> axes;
  for (const Tensor& tensor : *s.tensors) axes.push_back(axes_in_memory(tensor));
  const auto depth = [&](const Reading& r, std::size_t t) {
    return std::find(axes[t].begin(), axes[t].end(), r.axes[t]) - axes[t].begin();
  };
  ReadingTruth truth;
  for (const std::vector<std::size_t>& choice : choices(axes)) {
    std::optional<Reading> reading = read_by(s, choice);
    if (!reading) continue;
    if (!truth.reading) {
      truth.reading = std::move(reading);
      continue;
    }
    if (heads_before_blocks(s.data->layout)) truth.undetermined = true;
    for (std::size_t t = 0; t < axes.size(); ++t)
      if (depth(*reading, t) < depth(*truth.reading, t)) truth.undetermined = true;
  }
  if (!truth.reading) return refused(no_reading_codes(s), "no axes make up one page");
  return truth;
}

}  // namespace

ReadingTruth find_reading(const Subject& subject) {
  if (subject.blocks == 1) return find_single_block(subject);
  if (subject.tensors->size() == 1) return find_in_one_tensor(subject);
  return find_in_several(subject);
}

}  // namespace kvedit::reference
