#include "prove/prove.hpp"

#include "base/text.hpp"
#include "prove/bytes.hpp"
#include "prove/declared.hpp"
#include "prove/own_reading.hpp"
#include "prove/page.hpp"
#include "prove/plan.hpp"
#include "prove/sane.hpp"

namespace kvedit::prove {
namespace {

using Proof = std::variant<ProvedPage, Failure>;

Failure kernel_paged(const LayerFacts& facts, const Reading& reading, const ProvedPage& page) {
  const Int128 block = bytes_of(footprints_of(facts, page.boxes));
  const auto kernel_page = static_cast<std::int64_t>(block / reading.kernel_pages);
  return {Code::granularity_mismatch,
          text("one entry of axis ", reading.axes[0], " is a kernel page of ", kernel_page,
               " bytes; ", reading.kernel_pages, " of ", facts.tensors[0].shape[reading.axes[0]],
               " make a block of ", block, " bytes in a page of ", facts.spec->page_size_bytes,
               ", and no rule says that they are consecutive. Add a rule pack that claims this "
               "layout, or check num_blocks (",
               facts.num_blocks, ")"),
          {{"kernel_pages", reading.kernel_pages},
           {"kernel_page_bytes", kernel_page},
           {"page_size_bytes", facts.spec->page_size_bytes}}};
}

Proof prove_unclaimed(const LayerFacts& facts) {
  const auto reading = read(facts);
  if (const auto* failure = std::get_if<Failure>(&reading)) return *failure;
  const Reading& found = std::get<Reading>(reading);
  Proof proof = page_of(facts, boxes_of(facts, found), found.kernel_pages);
  if (const auto* page = std::get_if<ProvedPage>(&proof); page && found.kernel_pages > 1)
    return kernel_paged(facts, found, *page);
  return proof;
}

Proof prove_declared(const LayerFacts& facts, SplitPlan plan) {
  if (auto failure = disprove_partition(facts, plan.boxes)) return *failure;
  Proof proof = page_of(facts, std::move(plan.boxes), plan.kernel_pages);
  if (auto* page = std::get_if<ProvedPage>(&proof)) page->declared = true;
  return proof;
}

/// Two readings that fit stay undecided; another order than any the host can read is the rule's
/// word.
Failure undeclared(const Failure& none) {
  if (none.code == Code::granularity_mismatch) return none;
  return {Code::outside_page,
          text("its plan is an order the host cannot read by itself (", none.message,
               "); the rule must declare it"),
          none.facts};
}

Proof prove_plan(const LayerFacts& facts, const Plan& plan) {
  auto split_plan = split(facts, plan);
  if (const auto* failure = std::get_if<Failure>(&split_plan)) return *failure;
  SplitPlan& boxes = std::get<SplitPlan>(split_plan);
  const auto reading = read(facts);
  if (const auto* none = std::get_if<Failure>(&reading))
    return plan.declared ? prove_declared(facts, std::move(boxes)) : Proof(undeclared(*none));
  const Reading& found = std::get<Reading>(reading);
  Proof own = page_of(facts, boxes_of(facts, found), found.kernel_pages);
  auto* page = std::get_if<ProvedPage>(&own);
  std::optional<Failure> different = page ? differs(facts, boxes, *page) : std::get<Failure>(own);
  if (different)
    return plan.declared ? prove_declared(facts, std::move(boxes)) : Proof(std::move(*different));
  page->boxes = std::move(boxes.boxes);
  // Entries of the block axis are what counts, also where kernel pages have an axis of their own
  // in the tensor. A lone block can be read as one entry or as several.
  if (!boxes.split_by_rule) page->kernel_pages = boxes.kernel_pages;
  return own;
}

}  // namespace

Proof prove(const LayerFacts& facts, const Plan* plan) {
  if (auto failure = sane(facts)) return *failure;
  return plan ? prove_plan(facts, *plan) : prove_unclaimed(facts);
}

}  // namespace kvedit::prove
