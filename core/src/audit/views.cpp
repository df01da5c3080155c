#include "audit/views.hpp"

#include <string_view>

#include "base/runs.hpp"
#include "base/text.hpp"
#include "model/byte_sets.hpp"

namespace kvedit::audit {
namespace {

Failure outside(std::string message) { return {Code::outside_page, std::move(message), {}}; }

/// Bytes of block 0, from the first element of the first tensor in the storage.
struct Moving {
  std::size_t leader = 0;
  std::int64_t block_stride = 0;
  Ranges ranges;
};

// Views are of our own making.
constexpr std::string_view report_it =
    "; this is a fault of kvedit: please report it together with the registration";

class ViewAudit {
 public:
  explicit ViewAudit(const LayerClass& of) : of_(of) {}

  std::optional<Failure> run() {
    for (const ViewShape& view : of_.views)
      if (auto failure = add(view)) return failure;
    std::int64_t covered = 0;
    for (Moving& moving : seen_) {
      if (normalise(moving.ranges))
        return Failure{
            Code::overlap, text("its views show a byte of a block twice", report_it), {}};
      const Ranges owned = like(of_.page->owned, moving);
      if (!contains(owned, moving.ranges))
        return outside(text("its views show ", total(moving.ranges),
                            " bytes of a block where it "
                            "owns ",
                            total(owned), ", and some are not its own", report_it));
      const Ranges payload = like(of_.page->payload, moving);
      if (contains(moving.ranges, payload)) covered += total(payload);
    }
    if (covered == of_.page->block_bytes) return std::nullopt;
    return Failure{Code::incomplete,
                   text("its views miss payload: ", covered, " of ", of_.page->block_bytes,
                        " bytes of a block lie in ranges they show whole", report_it),
                   {{"covered", covered}, {"payload", of_.page->block_bytes}}};
  }

 private:
  std::optional<Failure> add(const ViewShape& view) {
    const std::int64_t item = view.dtype.itemsize;
    if (view.shape[view.block_axis] != of_.page->blocks)
      return outside(text("its view has ", view.shape[view.block_axis], " entries for ",
                          of_.page->blocks, " blocks", report_it));
    Strided inner(item);
    for (std::size_t a = 0; a < view.shape.size(); ++a)
      if (a != view.block_axis) inner.add({view.shape[a], view.stride[a] * item});
    inner.merge();
    const std::size_t leader = storage_leader(of_.facts.tensors, view.tensor);
    const auto expanded = expand(inner, origin(leader, view.tensor) + view.offset);
    if (!expanded || expanded->twice)
      return Failure{Code::overlap, text("its view shows a byte of a block twice", report_it), {}};
    Moving& moving = moving_for(leader, view.stride[view.block_axis] * item);
    moving.ranges.insert(moving.ranges.end(), expanded->ranges.begin(), expanded->ranges.end());
    return std::nullopt;
  }

  std::int64_t origin(std::size_t leader, std::size_t tensor) const {
    return offset_between(of_.facts.tensors[leader], of_.facts.tensors[tensor]);
  }

  bool alike(std::int64_t a, std::int64_t b) const { return a == b || of_.page->blocks == 1; }

  Moving& moving_for(std::size_t leader, std::int64_t block_stride) {
    for (Moving& moving : seen_)
      if (moving.leader == leader && alike(moving.block_stride, block_stride)) return moving;
    return seen_.emplace_back(Moving{leader, block_stride, {}});
  }

  Ranges like(const std::vector<PartShape>& parts, const Moving& moving) const {
    return ranges_of(of_.facts, parts, moving.leader, moving.block_stride);
  }

  const LayerClass& of_;
  std::vector<Moving> seen_;
};

}  // namespace

std::optional<Failure> wrong_view(const LayerClass& of) { return ViewAudit(of).run(); }

}  // namespace kvedit::audit
