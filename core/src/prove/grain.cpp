#include "prove/grain.hpp"

namespace kvedit::prove {
namespace {

/// A page without padding is its content; `sane` refuses a spec that says otherwise.
bool declares_padding(const Spec& spec) { return spec.page_size_padded.has_value(); }

bool counts_blocks(const Spec& spec) {
  return spec.recurrent() || (spec.page_size_padded && !spec.unpadded_page_size_bytes);
}

Grain by_placement(std::int64_t placed_stride, std::span<const Entries> all) {
  std::int64_t kernel_pages = 0;
  for (const Entries& each : all) {
    if (each.count == 1) continue;  // the stride of a lone entry says nothing
    if (placed_stride < each.stride || placed_stride % each.stride != 0)
      return Miss{Miss::Kind::ratio, 0, each.stride, placed_stride};
    const std::int64_t pages = placed_stride / each.stride;
    if (kernel_pages != 0 && kernel_pages != pages)
      return Miss{Miss::Kind::ratio, 0, pages, kernel_pages};
    kernel_pages = pages;
  }
  return kernel_pages == 0 ? 1 : kernel_pages;
}

Grain by_count(std::int64_t blocks, std::span<const Entries> all) {
  const std::int64_t pages = all[0].count / blocks;
  if (all[0].count % blocks != 0)
    return Miss{Miss::Kind::count, pages == 0 ? 1 : pages, all[0].count,
                static_cast<Int128>(blocks) * (pages == 0 ? 1 : pages)};
  return pages;
}

Grain by_bytes(const Spec& spec, Int128 entry) {
  const std::int64_t page = spec.unpadded_page_size_bytes.value_or(spec.page_size_bytes);
  if (page % entry != 0) return Miss{Miss::Kind::ratio, 0, entry, page};
  return static_cast<std::int64_t>(page / entry);
}

}  // namespace

bool makes_up_page(const Spec& spec, Int128 bytes) {
  if (spec.recurrent())
    return bytes <= spec.page_size_bytes && (!spec.state_bytes || bytes >= *spec.state_bytes);
  return bytes == spec.page_size_bytes || bytes == spec.unpadded_page_size_bytes.value_or(-1) ||
         (declares_padding(spec) && bytes < spec.page_size_bytes);
}

Grain grain_of(const LayerFacts& facts, std::span<const Entries> all) {
  Int128 entry = 0;
  for (const Entries& each : all) entry += each.bytes;
  const Spec& spec = *facts.spec;
  const Grain grain = facts.placed_stride >= 0 ? by_placement(facts.placed_stride, all)
                      : counts_blocks(spec)    ? by_count(facts.num_blocks, all)
                                               : by_bytes(spec, entry);
  if (std::holds_alternative<Miss>(grain)) return grain;
  const std::int64_t pages = std::get<std::int64_t>(grain);
  if (!makes_up_page(spec, entry * pages))
    return Miss{Miss::Kind::page, pages, entry * pages, spec.page_size_bytes};
  for (const Entries& each : all) {
    const Int128 tail = each.count - static_cast<Int128>(facts.num_blocks) * pages;
    if (tail < 0 || tail >= pages)
      return Miss{Miss::Kind::blocks, pages, each.count,
                  static_cast<Int128>(facts.num_blocks) * pages};
  }
  return pages;
}

}  // namespace kvedit::prove
