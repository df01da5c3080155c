#include <limits>
#include <optional>
#include <string>
#include <utility>

#include <kvedit/addresses.hpp>

namespace kvedit {
namespace {

constexpr std::size_t before_first = std::numeric_limits<std::size_t>::max();

std::string named(const Result& result, std::size_t layer) {
  return "layer " + std::string(result.layer(layer).name());
}

Expected<PageMap> pages_of(const Result& result, std::size_t layer, std::vector<bool>& seen) {
  if (layer >= result.layer_count())
    return Error{"", "layer index " + std::to_string(layer) + " of a result with " +
                         std::to_string(result.layer_count()) + " layers: take one below that"};
  if (seen[layer])
    return Error{"", named(result, layer) + " is chosen twice: name each layer once"};
  seen[layer] = true;
  const std::optional<PageMap> pages = result.layer(layer).pages();
  if (!pages)
    return Error{"", named(result, layer) + " is " +
                         std::string(to_text(result.layer(layer).outcome())) +
                         " and has no pages: choose served layers only"};
  return *pages;
}

std::optional<Error> check_group(const Result& result, std::size_t first, std::size_t layer) {
  const std::int32_t expected = result.layer(first).group();
  const std::int32_t group = result.layer(layer).group();
  if (group == expected) return std::nullopt;
  return Error{"", named(result, layer) + " is of group " + std::to_string(group) + ", " +
                       named(result, first) + " of group " + std::to_string(expected) +
                       ": block ids belong to one group, make a map for each"};
}

std::optional<Error> check_bases(const Result& result, std::span<const std::uint64_t> bases) {
  const std::vector<Storage>& storages = result.registration().data().storages;
  if (bases.empty()) return std::nullopt;
  if (bases.size() != storages.size())
    return Error{"", std::to_string(bases.size()) + " base addresses for " +
                         std::to_string(storages.size()) +
                         " storages: give one for each, in the registration's order"};
  for (std::size_t i = 0; i < bases.size(); ++i) {
    std::uint64_t end = 0;
    if (__builtin_add_overflow(bases[i], storages[i].nbytes, &end))
      return Error{"", "storage " + storages[i].name + " of " + std::to_string(storages[i].nbytes) +
                           " bytes at address " + std::to_string(bases[i]) +
                           " ends beyond 64 bits: give its address"};
  }
  return std::nullopt;
}

Error bad_id(std::span<const std::int64_t> block_ids, std::int64_t blocks) {
  std::size_t at = 0;
  while (block_ids[at] >= 0 && block_ids[at] < blocks) ++at;
  return {"", "block id " + std::to_string(block_ids[at]) + " at position " + std::to_string(at) +
                  " of the list: the group has the ids 0 to " + std::to_string(blocks - 1)};
}

bool all_below(std::span<const std::int64_t> block_ids, std::int64_t blocks) {
  const auto limit = static_cast<std::uint64_t>(blocks);
  std::uint64_t wrong = 0;
  for (const std::int64_t id : block_ids)
    wrong |= static_cast<std::uint64_t>(static_cast<std::uint64_t>(id) >= limit);
  return wrong == 0;
}

template <class Stream>
std::uint64_t address_in(const Stream& stream, std::int64_t block) {
  return stream.address +
         static_cast<std::uint64_t>(block) * static_cast<std::uint64_t>(stream.block_stride);
}

// Whether two streams written after each other are one for every block id.
template <class Stream>
bool always_touch(const Stream& a, const Stream& b) {
  return a.storage == b.storage && a.block_stride == b.block_stride &&
         a.address + a.length == b.address;
}

// Whether `b` of some block can begin where `a` of another, or of the same, ends.
template <class Stream>
bool can_touch(const Stream& a, const Stream& b, bool same_block) {
  if (a.storage != b.storage) return false;
  if (a.block_stride != b.block_stride || a.block_stride <= 0) return true;
  const std::uint64_t gap = a.address + a.length - b.address;  // wraps: a multiple either way
  if (same_block) return gap == 0;
  return static_cast<std::int64_t>(gap) % a.block_stride == 0;
}

template <class Stream>
bool run_can_touch(std::span<const Stream> run) {
  for (std::size_t i = 1; i < run.size(); ++i)
    if (can_touch(run[i - 1], run[i], true)) return true;
  return can_touch(run.back(), run.front(), false);
}

// Appends extents. The last one is rewritten until its successor does not touch it, so that
// consecutive and scattered ids take the same branchless way.
class Sink {
 public:
  explicit Sink(std::span<Extent> out) : out_(out.data()) {}

  template <class Stream>
  void merge(std::span<const Stream> run, std::span<const std::int64_t> block_ids) {
    std::size_t at = at_;
    Extent last = last_;
    for (const std::int64_t block : block_ids) {
      for (const Stream& stream : run) {
        const std::uint64_t address = address_in(stream, block);
        const bool touches =
            (address == last.address + last.length) & (stream.storage == last.storage);
        at += touches ? 0 : 1;
        last.address = touches ? last.address : address;
        last.length = (touches ? last.length : 0) + stream.length;
        last.storage = stream.storage;
        out_[at] = last;
      }
    }
    at_ = at;
    last_ = last;
  }

  // The same for a run of one stream, whose extents all lie in the storage of the last one.
  template <class Stream>
  void merge(const Stream& only, std::span<const std::int64_t> block_ids) {
    const Stream stream = only;
    Extent* const out = out_;
    std::size_t at = at_;
    std::uint64_t begin = last_.address;
    std::uint64_t end = last_.address + last_.length;
    for (const std::int64_t block : block_ids) {
      const std::uint64_t address = address_in(stream, block);
      const std::uint64_t apart = address != end ? 1 : 0;
      begin += (address - begin) & (0 - apart);
      end = address + stream.length;
      at += apart;
      out[at] = {begin, end - begin, stream.storage};
    }
    at_ = at;
    last_ = out[at];
  }

  // For runs of which no two extents can touch.
  template <class Stream>
  void append(std::span<const Stream> run, std::span<const std::int64_t> block_ids) {
    Extent* out = out_ + (at_ + 1);
    if (run.size() == 1) {
      const Stream stream = run.front();
      for (const std::int64_t block : block_ids)
        *out++ = {address_in(stream, block), stream.length, stream.storage};
    } else {
      for (const std::int64_t block : block_ids)
        for (const Stream& stream : run)
          *out++ = {address_in(stream, block), stream.length, stream.storage};
    }
    at_ += block_ids.size() * run.size();
    last_ = out_[at_];
  }

  std::size_t count() const { return at_ + 1; }

 private:
  Extent* out_;
  std::size_t at_ = before_first;
  Extent last_{0, 0, -1};
};

template <class Stream>
void write_run(std::span<const Stream> run, std::span<const std::int64_t> block_ids, Sink& sink) {
  const bool can_touch_itself = run_can_touch(run);
  if (can_touch_itself && run.size() > 1) return sink.merge(run, block_ids);
  sink.merge(run, block_ids.first(1));  // may touch the run before, of another storage
  const std::span<const std::int64_t> rest = block_ids.subspan(1);
  if (can_touch_itself)
    sink.merge(run.front(), rest);
  else if (!rest.empty())
    sink.append(run, rest);
}

}  // namespace

Expected<AddressMap> AddressMap::make(const Result& result, std::span<const std::size_t> layers,
                                      std::span<const std::uint64_t> bases, Order order) {
  if (!result.ok())
    return Error{"", "the result is not ok, no layer has pages: resolve its problems first"};
  if (std::optional<Error> wrong = check_bases(result, bases)) return *std::move(wrong);

  AddressMap map;
  map.order_ = order;
  std::vector<bool> seen(result.layer_count());
  std::uint32_t part_number = 0;
  for (const std::size_t layer : layers) {
    const Expected<PageMap> pages = pages_of(result, layer, seen);
    if (!pages) return pages.error();
    if (std::optional<Error> wrong = check_group(result, layers.front(), layer))
      return *std::move(wrong);
    if (__builtin_add_overflow(map.block_bytes_, pages->block_bytes, &map.block_bytes_))
      return Error{"", "a block of the chosen layers has more than 2^63-1 bytes: choose fewer"};
    map.blocks_ = pages->blocks;
    for (const Part& part : pages->parts) map.add_part(part, part_number++, bases);
  }
  return map;
}

void AddressMap::add_part(const Part& part, std::uint32_t number,
                          std::span<const std::uint64_t> bases) {
  const std::uint64_t base = bases.empty() ? 0 : bases[static_cast<std::size_t>(part.storage)];
  for (const Range& range : part.ranges) {
    const Stream stream{
        base + static_cast<std::uint64_t>(part.base) + static_cast<std::uint64_t>(range.offset),
        static_cast<std::uint64_t>(range.length), part.block_stride, part.storage,
        order_ == Order::block_major ? 0 : number};
    if (!ranges_.empty() && ranges_.back().part == stream.part &&
        always_touch(ranges_.back(), stream)) {
      ranges_.back().length += stream.length;
    } else {
      ranges_.push_back(stream);
    }
  }
}

Expected<std::size_t> AddressMap::write(std::span<const std::int64_t> block_ids,
                                        std::span<Extent> out) const {
  if (block_ids.empty() || ranges_.empty()) return std::size_t{0};
  if (!all_below(block_ids, blocks_)) return bad_id(block_ids, blocks_);
  if (out.size() / ranges_.size() < block_ids.size())
    return Error{"", "room for " + std::to_string(out.size()) + " extents, " +
                         std::to_string(block_ids.size()) + " blocks can need " +
                         std::to_string(capacity(block_ids.size())) + ": give `capacity`"};

  Sink sink(out);
  const std::span<const Stream> streams(ranges_);
  for (std::size_t first = 0, end = 0; first < streams.size(); first = end) {
    while (end < streams.size() && streams[end].part == streams[first].part) ++end;
    write_run(streams.subspan(first, end - first), block_ids, sink);
  }
  return sink.count();
}

Expected<std::vector<Extent>> AddressMap::extents(std::span<const std::int64_t> block_ids) const {
  std::vector<Extent> out(capacity(block_ids.size()));
  const Expected<std::size_t> count = write(block_ids, out);
  if (!count) return count.error();
  out.resize(*count);
  return out;
}

}  // namespace kvedit
