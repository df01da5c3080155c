#include "prove/page.hpp"

#include <algorithm>
#include <optional>

#include "base/field.hpp"
#include "base/text.hpp"
#include "prove/bytes.hpp"

namespace kvedit::prove {
namespace {

constexpr std::int64_t most_steps = std::int64_t{1} << 20;

/// The first `n` bytes are the payload, by the spec; nothing when it does not say.
std::optional<std::int64_t> payload_bytes(const Spec& spec) {
  if (spec.recurrent()) return spec.state_bytes;
  return spec.unpadded_page_size_bytes.value_or(spec.page_size_bytes);
}

class Page {
 public:
  Page(const LayerFacts& facts, std::vector<Box> boxes, std::int64_t kernel_pages)
      : facts_(facts), prints_(footprints_of(facts, boxes)) {
    page_.boxes = std::move(boxes);
    page_.blocks = facts.num_blocks;
    page_.kernel_pages = kernel_pages;
    lowest_ = &*std::min_element(prints_.begin(), prints_.end(),
                                 [](const auto& a, const auto& b) { return a.base < b.base; });
    end_ = 0;
    for (const Footprint& print : prints_) end_ = std::max(end_, print.end() - lowest_->base);
  }

  std::variant<ProvedPage, Failure> prove() {
    for (const Footprint& print : prints_)
      if (auto failure = met_within(print)) return *failure;
    page_.window = is_window();
    if (auto failure = page_.window ? own_window() : own_ranges()) return *failure;
    for (const PartShape& part : page_.payload) page_.block_bytes += total(part.ranges);
    if (auto failure = reach()) return *failure;
    if (facts_.num_blocks == 1) keep_lone_stride();
    return std::move(page_);
  }

 private:
  static std::optional<Failure> met_within(const Footprint& print) {
    if (print.inner.nested()) return std::nullopt;
    const auto expanded = expand(print.inner, print.base);
    if (!expanded) return too_scattered(print.tensor);
    if (expanded->twice) return met_twice(print.tensor);
    return std::nullopt;
  }

  std::optional<Failure> reach() {
    constexpr Int128 far = Int128{1} << 62;
    for (const PartShape& part : page_.owned) {
      const Range& last = part.ranges.back();
      const Int128 end = Int128{part.offset} + last.offset + last.length +
                         static_cast<Int128>(facts_.num_blocks - 1) * part.block_stride;
      if (end > far)
        return Failure{
            Code::bad_geometry,
            text("what its blocks own ends ", end, " bytes behind the first element of tensor ",
                 part.tensor, ", and no storage is that large; check num_blocks and its strides"),
            {}};
      page_.reaches.push_back(
          {part.tensor, part.offset + part.ranges.front().offset, static_cast<std::int64_t>(end)});
    }
    return std::nullopt;
  }

  /// The stride of a lone block moves nothing; it is shown as the engine gave it.
  void keep_lone_stride() {
    for (auto* parts : {&page_.payload, &page_.owned})
      for (PartShape& part : *parts)
        for (const Box& box : page_.boxes)
          for (const Axis& axis : box.axes)
            if (box.tensor == part.tensor && axis.role == Role::block)
              part.block_stride = axis.stride;
  }

  bool is_window() const {
    for (const Footprint& print : prints_)
      if (print.leader != prints_[0].leader || print.block_stride != prints_[0].block_stride)
        return false;
    return end_ <= facts_.spec->page_size_bytes;
  }

  PartShape part_at_start(Ranges ranges) const {
    // Offsets count from the lowest tensor's own first element.
    const Footprint& low = *lowest_;
    const std::int64_t own = offset_between(facts_.tensors[low.leader], facts_.tensors[low.tensor]);
    return {low.tensor, low.base - own, low.block_stride, std::move(ranges)};
  }

  std::optional<Failure> own_window() {
    const std::int64_t page = facts_.spec->page_size_bytes;
    const std::int64_t stride = prints_[0].block_stride;
    if (facts_.num_blocks > 1 && stride < page)
      return Failure{
          Code::overlap,
          text("blocks are ", stride, " bytes apart and each owns a page of ", page,
               " bytes; page_size_bytes and the tensor's strides do not belong together"),
          {{"block_stride", stride}, {"page_size_bytes", page}}};
    page_.owned.push_back(part_at_start({{0, page}}));
    const auto n = payload_bytes(*facts_.spec);
    if (n && (end_ <= *n || covers(*n))) {
      if (auto failure = tensors_apart()) return failure;
      page_.payload.push_back(part_at_start({{0, *n}}));
      return std::nullopt;
    }
    return payload_is_raw();
  }

  /// Tensors of one page must not share bytes, also where the payload does not need their ranges.
  std::optional<Failure> tensors_apart() const {
    if (prints_.size() == 1) return std::nullopt;
    const auto streams = streams_of(prints_);
    if (const auto* failure = std::get_if<Failure>(&streams)) return *failure;
    return std::nullopt;
  }

  bool covers(std::int64_t n) const {
    if (facts_.tensors.size() != 1) return false;
    if (prints_[0].inner.run() >= n) return true;
    const auto expanded = expand(prints_[0].inner, 0);
    return expanded && contains(expanded->ranges, {{0, n}});
  }

  std::optional<Failure> payload_is_raw() {
    auto streams = streams_of(prints_);
    if (auto* failure = std::get_if<Failure>(&streams)) return *failure;
    Ranges& ranges = std::get<std::vector<Stream>>(streams)[0].ranges;
    for (Range& range : ranges) range.offset -= lowest_->base;
    page_.payload.push_back(part_at_start(std::move(ranges)));
    return std::nullopt;
  }

  std::optional<Failure> own_ranges() {
    for (const Footprint& print : prints_) {
      auto expanded = expand(print.inner, 0);
      if (!expanded) return too_scattered(print.tensor);
      const std::int64_t own =
          offset_between(facts_.tensors[print.leader], facts_.tensors[print.tensor]);
      page_.payload.push_back(
          {print.tensor, print.base - own, print.block_stride, std::move(expanded->ranges)});
    }
    page_.owned = page_.payload;
    return blocks_apart();
  }

  std::optional<Failure> blocks_apart() const {
    std::int64_t steps = most_steps;
    for (std::size_t i = 0; i < prints_.size(); ++i) {
      if (!nested_with_blocks(i) && meets_itself(field(i), steps) != Meeting::apart)
        return shared(i, i);
      for (std::size_t j = i + 1; j < prints_.size(); ++j)
        if (prints_[i].leader == prints_[j].leader &&
            meet(field(i), field(j), steps) != Meeting::apart)
          return shared(i, j);
    }
    return std::nullopt;
  }

  bool nested_with_blocks(std::size_t i) const { return all_of(page_.boxes[i]).nested(); }

  Field field(std::size_t i) const {
    return {prints_[i].base, prints_[i].block_stride, facts_.num_blocks, page_.owned[i].ranges};
  }

  Failure shared(std::size_t i, std::size_t j) const {
    return {Code::overlap,
            text("two blocks share bytes, or cannot be shown not to: tensors ", prints_[i].tensor,
                 " and ", prints_[j].tensor, " move by ", prints_[i].block_stride, " and ",
                 prints_[j].block_stride,
                 " bytes from block to block; check their strides and offsets"),
            {{"block_stride", prints_[i].block_stride},
             {"other_block_stride", prints_[j].block_stride}}};
  }

  const LayerFacts& facts_;
  std::vector<Footprint> prints_;
  const Footprint* lowest_;
  std::int64_t end_;  // of the highest byte, from the lowest
  ProvedPage page_;
};

}  // namespace

std::variant<ProvedPage, Failure> page_of(const LayerFacts& facts, std::vector<Box> boxes,
                                          std::int64_t kernel_pages) {
  return Page(facts, std::move(boxes), kernel_pages).prove();
}

}  // namespace kvedit::prove
