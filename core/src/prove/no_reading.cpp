#include "prove/no_reading.hpp"

#include <algorithm>

#include "base/text.hpp"

namespace kvedit::prove {
namespace {

std::int64_t longest_axis(const Tensor& tensor) {
  return *std::max_element(tensor.shape.begin(), tensor.shape.end());
}

std::size_t outermost_axis(const Tensor& tensor) {
  return static_cast<std::size_t>(std::max_element(tensor.stride.begin(), tensor.stride.end()) -
                                  tensor.stride.begin());
}

std::int64_t outermost_entries(const Tensor& tensor) {
  return tensor.shape[outermost_axis(tensor)];
}

Int128 bytes_of_all(const Tensor& tensor) {
  Int128 bytes = tensor.dtype.itemsize;
  for (const std::int64_t extent : tensor.shape) bytes *= extent;
  return bytes;
}

/// Whether entries of the outermost axes make pages when every tensor is cut for itself, into about
/// as many as there are blocks.
bool outermost_make_pages(const LayerFacts& facts) {
  Int128 bytes = 0;
  for (const Tensor& tensor : facts.tensors) {
    const std::int64_t entries = outermost_entries(tensor);
    const Int128 share = (Int128{entries} + facts.num_blocks / 2) / facts.num_blocks;
    bytes += bytes_of_all(tensor) / entries * std::max<Int128>(share, 1);
  }
  return makes_up_page(*facts.spec, bytes);
}

using Count = std::int64_t (*)(const Tensor&);

/// The first tensor that counts otherwise than tensor 0; the number of tensors when none does.
std::size_t other_count(const LayerFacts& facts, Count count) {
  std::size_t other = 1;
  while (other < facts.tensors.size() && count(facts.tensors[other]) == count(facts.tensors[0]))
    ++other;
  return other;
}

/// A tensor with the pages of several layers.
std::string allocation(const LayerFacts& facts) {
  Int128 bytes = 0;
  for (const Tensor& tensor : facts.tensors) bytes += bytes_of_all(tensor);
  const Int128 pages = Int128{facts.spec->page_size_bytes} * facts.num_blocks;
  if (bytes % pages != 0 || bytes / pages < 2) return "";
  return text(". It has ", bytes, " bytes in all, ", bytes / pages, " times its ", facts.num_blocks,
              " pages, and looks like an allocation of several layers: register each layer's own "
              "view");
}

std::string placed_step(const LayerFacts& facts) {
  if (facts.placed_stride == 0) return "nowhere (block_stride 0 or negative)";
  return text(facts.placed_stride, " bytes");
}

class Explanation {
 public:
  Explanation(const LayerFacts& facts, const NearMiss& near)
      : facts_(facts), near_(near), miss_(near.miss) {}

  Failure make() const {
    if (miss_.kind == Miss::Kind::blocks || miss_.kind == Miss::Kind::count)
      return uneven() || miss_.have != entries()
                 ? other_blocks(facts_, text("axis ", near_.axis), miss_)
                 : other_bytes();
    if (facts_.placed_stride >= 0 && miss_.kind == Miss::Kind::ratio) return other_stride();
    return not_tiled();
  }

 private:
  std::int64_t entries() const { return facts_.tensors[0].shape[near_.axis]; }
  std::int64_t share() const { return entries() / facts_.num_blocks; }
  bool uneven() const { return entries() % facts_.num_blocks != 0; }
  Int128 share_bytes() const { return Int128{near_.entry} * share(); }

  /// Every block has its share of entries, and they are no page.
  Failure other_bytes() const {
    const std::int64_t page = facts_.spec->page_size_bytes;
    return {Code::block_count,
            text("axis ", near_.axis, " has ", entries(), " entries, ", share(), " of ",
                 near_.entry, " bytes for each of ", facts_.num_blocks, " blocks: ", share_bytes(),
                 " bytes where the page has ", page, " (", miss_.want, " entries)", remedy()),
            {{"entries", entries()},
             {"needed", saturated(miss_.want)},
             {"num_blocks", facts_.num_blocks},
             {"page_size_bytes", page}}};
  }

  std::string remedy() const {
    if (std::string whole = allocation(facts_); !whole.empty()) return whole;
    if (share_bytes() > facts_.spec->page_size_bytes)
      return ". Check num_blocks and page_size_bytes against the engine's";
    return ". A page that is padded, or keeps one state for several tokens, must say so in its "
           "spec "
           "(page_size_padded; tokens_per_state and the page that follows); else check num_blocks, "
           "dtype and shape";
  }

  Failure other_stride() const {
    return {Code::placement_mismatch,
            text("the placement moves ", placed_step(facts_), " from block to block and axis ",
                 near_.axis, " ", miss_.have,
                 " bytes from entry to entry; no whole number of entries makes a block. Placement "
                 "and tensor are of different engines or moments"),
            {{"block_stride", facts_.placed_stride}, {"entry_stride", saturated(miss_.have)}}};
  }

  Failure not_tiled() const {
    const std::int64_t page = facts_.spec->page_size_bytes;
    const bool whole = miss_.kind == Miss::Kind::page;
    return {Code::not_tiled,
            text("no axis makes up one page of ", page, " bytes: the nearest, axis ", near_.axis,
                 ", has ", entries(), " entries of ", near_.entry, " bytes",
                 facts_.tensors.size() > 1 ? " over all tensors" : "", for_each_block(), states(),
                 hint()),
            {{"page_size_bytes", page}, {"nearest", saturated(whole ? miss_.have : near_.entry)}}};
  }

  std::string for_each_block() const {
    if (miss_.kind == Miss::Kind::page)
      return text(", ", miss_.kernel_pages, " for each of ", facts_.num_blocks,
                  " blocks: ", miss_.have, " bytes");
    if (uneven() || share() == 0) return "";
    return text(", ", share(), " for each of ", facts_.num_blocks, " blocks: ", share_bytes(),
                " bytes");
  }

  std::string states() const {
    if (!facts_.spec->state_bytes) return "";
    const std::int64_t bytes = *facts_.spec->state_bytes;
    const bool few = miss_.kind == Miss::Kind::page && miss_.have < bytes;
    return text(few ? ", fewer than the states' " : "; the states alone have ", bytes);
  }

  std::string hint() const {
    if (std::string whole = allocation(facts_); !whole.empty()) return whole;
    const Tensor& tensor = facts_.tensors[0];
    const Int128 step = Int128{tensor.stride[near_.axis]} * tensor.dtype.itemsize * share();
    const std::int64_t page = facts_.spec->page_size_bytes;
    if (!facts_.spec->recurrent() && !uneven() && step == page && share_bytes() < page)
      return text(". Blocks are ", page,
                  " bytes apart; if padding or scales fill the rest, the "
                  "spec must declare it (page_size_padded)");
    return "; check page_size_bytes, num_blocks, dtype and shape against the engine's";
  }

  const LayerFacts& facts_;
  const NearMiss& near_;
  const Miss& miss_;
};

Failure of_other_blocks(const LayerFacts& facts, std::size_t other, Count count,
                        std::string_view which) {
  const std::int64_t first = count(facts.tensors[0]), entries = count(facts.tensors[other]);
  return {
      Code::block_count,
      text("tensor ", other, " and tensor 0 do not count the same ", facts.num_blocks,
           " blocks: its ", which, " has ", entries, " entries, that of tensor 0 ", first,
           "; num_blocks and the tensors do not belong together: give both as the engine has them"),
      {{"entries", entries}, {"entries_of_first", first}, {"num_blocks", facts.num_blocks}}};
}

/// What the tensors are without the placement: then it is the placement that does not fit.
std::optional<Failure> placed_otherwise(const LayerFacts& facts) {
  LayerFacts unplaced = facts;
  unplaced.placed_stride = -1;
  const auto found = Search(unplaced).first();
  if (!found) return std::nullopt;
  const auto step = [&](std::size_t t) {
    return facts.tensors[t].stride[found->axes[t]] * facts.tensors[t].dtype.itemsize;
  };
  std::size_t t = 0;
  while (t + 1 < facts.tensors.size() &&
         Int128{step(t)} * found->kernel_pages == facts.placed_stride)
    ++t;
  return Failure{Code::placement_mismatch,
                 text("the placement moves ", placed_step(facts), " from block to block, axis ",
                      found->axes[t], " of tensor ", t, " ", step(t), " from entry to entry, ",
                      found->kernel_pages,
                      " a block; placement and tensor are of different engines or moments"),
                 {{"block_stride", facts.placed_stride},
                  {"entry_stride", step(t)},
                  {"kernel_pages", found->kernel_pages}}};
}

}  // namespace

Failure other_blocks(const LayerFacts& facts, std::string_view axis, const Miss& miss) {
  const bool whole = miss.have % miss.kernel_pages == 0;
  return {Code::block_count,
          text(axis, " has ", miss.have, " entries; ", facts.num_blocks, " blocks need ", miss.want,
               ", ", miss.kernel_pages, " each",
               whole ? text(". The tensor holds ", miss.have / miss.kernel_pages,
                            " blocks: give the group its own num_blocks, or register the tensor "
                            "that the block ids count")
                     : "; num_blocks and the tensor do not belong together: give both as the "
                       "engine has them",
               allocation(facts)),
          {{"entries", saturated(miss.have)},
           {"needed", saturated(miss.want)},
           {"num_blocks", facts.num_blocks}}};
}

Failure no_reading(const LayerFacts& facts, const Search& search) {
  if (facts.placed_stride >= 0)
    if (auto failure = placed_otherwise(facts)) return *failure;
  const std::size_t tensors = facts.tensors.size();
  const std::size_t outer = other_count(facts, outermost_entries);
  if (outer < tensors && outermost_make_pages(facts))
    return of_other_blocks(facts, outer, outermost_entries, "outermost axis");
  if (!search.nearest()) {
    const std::size_t longest = std::min(other_count(facts, longest_axis), tensors - 1);
    return of_other_blocks(facts, longest, longest_axis, "longest");
  }
  return Explanation(facts, *search.nearest()).make();
}

}  // namespace kvedit::prove
