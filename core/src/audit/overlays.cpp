#include "audit/overlays.hpp"

#include <algorithm>

namespace kvedit::audit {

Overlays::Region Overlays::region_of(std::span<const Span> cluster) {
  const Span& first = cluster[0];
  Region region{first.storage, first.begin, first.end, first.stride};
  for (const Span& span : cluster) {
    region.end = std::max(region.end, span.end);
    if (span.stride != first.stride || span.first_end - first.begin > first.stride)
      region.stride = 0;
  }
  return region;
}

bool Overlays::before(const Region& a, const Region& b) {
  return a.storage != b.storage ? a.storage < b.storage : a.begin < b.begin;
}

void Overlays::add(std::span<const Span> cluster) {
  if (may_cross_) return;
  const Region region = region_of(cluster);
  while (at_ < regions_.size() &&
         (regions_[at_].storage < region.storage ||
          (regions_[at_].storage == region.storage && regions_[at_].end <= region.begin)))
    ++at_;
  const bool apart = at_ == regions_.size() || regions_[at_].storage != region.storage ||
                     region.end <= regions_[at_].begin;
  if (apart) {
    if (added_.capacity() == 0) added_.reserve(64);
    return added_.push_back(region);
  }
  const Region& other = regions_[at_];
  may_cross_ = region.stride <= 0 || region.stride != other.stride || region.begin != other.begin ||
               region.end > other.end;
}

void Overlays::end_group() {
  at_ = 0;
  if (added_.empty()) return;
  const auto earlier = static_cast<std::ptrdiff_t>(regions_.size());
  regions_.insert(regions_.end(), added_.begin(), added_.end());
  std::inplace_merge(regions_.begin(), regions_.begin() + earlier, regions_.end(), before);
  added_.clear();
}

}  // namespace kvedit::audit
