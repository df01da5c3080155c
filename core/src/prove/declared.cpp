#include "prove/declared.hpp"

#include "base/text.hpp"
#include "model/byte_sets.hpp"
#include "prove/bytes.hpp"

namespace kvedit::prove {
namespace {

/// Whether every byte of the box, at its offset, is one of the tensor's.
bool inside(const Strided& box, std::int64_t offset, const Strided& tensor) {
  if (offset == 0 && box == tensor) return true;
  if (tensor.dense()) return offset >= 0 && offset + box.span() <= tensor.run();
  const auto outer = expand(tensor, 0), inner = expand(box, offset);
  return outer && inner && contains(outer->ranges, inner->ranges);
}

bool meets_twice(const Strided& set) {
  if (set.nested()) return false;
  const auto expanded = expand(set, 0);
  return !expanded || expanded->twice;
}

std::optional<Failure> disprove(const LayerFacts& facts, const Box& box) {
  const Strided box_bytes = all_of(box);
  const Strided tensor_bytes = bytes_of(facts.tensors[box.tensor]);
  if (meets_twice(box_bytes))
    return Failure{Code::overlap,
                   text("its plan gives a byte of tensor ", box.tensor,
                        " to two blocks, or twice to one; correct the rule: a stride is at least "
                        "what it steps over"),
                   {{"tensor", box.tensor}}};
  if (!inside(box_bytes, box.offset, tensor_bytes))
    return Failure{Code::outside_page,
                   text("its plan reads bytes that are not among the ",
                        static_cast<std::int64_t>(tensor_bytes.bytes()), " bytes of tensor ",
                        box.tensor, ": it spans ", box_bytes.span(), " bytes from ", box.offset,
                        "; correct the rule's offset and axes"),
                   {{"tensor", box.tensor}, {"offset", box.offset}, {"span", box_bytes.span()}}};
  const Int128 left = tensor_bytes.bytes() - box_bytes.bytes();
  const Int128 block = box_bytes.bytes() / facts.num_blocks;
  if (left >= block)
    return Failure{Code::incomplete,
                   text("its plan leaves ", left, " bytes of tensor ", box.tensor,
                        " to no block, at least a block's ", block,
                        "; correct the rule: only a tail shorter than a block may be left"),
                   {{"left", saturated(left)}, {"block", saturated(block)}}};
  return std::nullopt;
}

}  // namespace

std::optional<Failure> disprove_partition(const LayerFacts& facts, const std::vector<Box>& boxes) {
  std::vector<int> seen(facts.tensors.size(), 0);
  for (const Box& box : boxes) ++seen[box.tensor];
  for (std::size_t t = 0; t < seen.size(); ++t)
    if (seen[t] != 1)
      return Failure{Code::outside_page,
                     text("its plan declares the order and gives ", seen[t], " boxes for tensor ",
                          t, "; a declared plan gives exactly one for each"),
                     {{"tensor", static_cast<std::int64_t>(t)}, {"boxes", seen[t]}}};
  for (const Box& box : boxes)
    if (auto failure = disprove(facts, box)) return failure;
  return std::nullopt;
}

}  // namespace kvedit::prove
