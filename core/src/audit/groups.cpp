#include "audit/groups.hpp"

#include <numeric>
#include <span>

#include "audit/retention.hpp"
#include "model/index.hpp"

namespace kvedit::audit {
namespace {

/// A wrapper without the field has its first leaf's.
bool dcp_sharded(const Group& group, const Spec& spec) {
  if (group.spec.dcp_sharded) return *group.spec.dcp_sharded;
  const auto first =
      group.layers.empty() ? group.layer_specs.end() : group.layer_specs.find(group.layers.front());
  if (first == group.layer_specs.end()) return !spec.recurrent();
  return first->second.dcp_sharded.value_or(!first->second.recurrent());
}

/// What layers have in common; nothing once two differ.
struct Common {
  std::optional<std::int64_t> value;
  bool differ = false;

  void add(std::int64_t next) {
    differ = differ || (value && *value != next);
    value = next;
  }
  std::optional<std::int64_t> get() const { return differ ? std::nullopt : value; }
};

struct Tally {
  std::int64_t layers = 0, excluded = 0, scratch = 0, bytes = 0;
  Common slots;
};

/// One error, and no group is served: what lies elsewhere is not moved either.
GroupOutcome outcome_of(const Tally& tally, const Group& group, const Edit& edit) {
  if (!group.enable_kv_transfer) return GroupOutcome::excluded;
  if (tally.layers > 0 && tally.excluded == tally.layers) return GroupOutcome::excluded;
  if (!edit.ok) return GroupOutcome::refused;
  if (tally.layers == 0)
    return group.spec.prefix_cacheable || edit.options.purpose == Purpose::transfer
               ? GroupOutcome::served
               : GroupOutcome::scratch;
  return tally.scratch == tally.layers - tally.excluded ? GroupOutcome::scratch
                                                        : GroupOutcome::served;
}

}  // namespace

std::int64_t tokens_per_block(const RegistrationData& data, const Group& group, const Spec& spec) {
  std::int64_t tokens = spec.block_size;
  if (data.parallel.dcp != 1 && dcp_sharded(group, spec) &&
      __builtin_mul_overflow(tokens, data.parallel.dcp, &tokens))
    return INT64_MAX;
  return tokens;
}

void sum_up_groups(Edit& edit) {
  const RegistrationData& data = edit.registration.data();
  const RegistrationIndex& index = edit.registration.index();
  std::vector<Tally> tallies(data.groups.size());
  for (const LayerEntry& entry : edit.layers) {
    if (entry.group < 0) continue;
    Tally& tally = tallies[static_cast<std::size_t>(entry.group)];
    ++tally.layers;
    tally.excluded += entry.outcome == Outcome::excluded;
    tally.scratch += entry.outcome == Outcome::scratch;
    if (entry.outcome == Outcome::excluded || entry.outcome == Outcome::failed) continue;
    const LayerClass& of = edit.classes[static_cast<std::size_t>(entry.layer_class)];
    tally.slots.add(of.slots);
    if (__builtin_add_overflow(tally.bytes, of.page->block_bytes, &tally.bytes))
      tally.bytes = INT64_MAX;
  }
  edit.groups.reserve(tallies.size());
  for (std::size_t g = 0; g < tallies.size(); ++g) {
    const Group& group = data.groups[g];
    const Tally& tally = tallies[g];
    GroupResult& result = edit.groups.emplace_back();
    result.index = static_cast<std::int32_t>(g);
    result.kind = group.spec.kind;
    result.layers = tally.layers;
    result.outcome = outcome_of(tally, group, edit);
    result.tokens_per_block = tokens_per_block(data, group, group.spec);
    const bool moved =
        result.outcome == GroupOutcome::served || result.outcome == GroupOutcome::scratch;
    if (moved) result.slots_per_block = tally.slots.get();
    if (moved) result.block_bytes = tally.bytes;
    const Kept kept = retention_of(
        group.spec, std::span(index.layers).subspan(index.group_begin[g], group.layers.size()));
    result.retention = kept.retention;
    result.window_tokens = kept.window_tokens;
  }
}

std::optional<std::int64_t> chunk_tokens(const Edit& edit) {
  std::int64_t chunk = 0;
  for (const GroupResult& group : edit.groups) {
    if (group.outcome != GroupOutcome::served) continue;
    const std::int64_t tokens = group.tokens_per_block;
    if (tokens <= 0) return std::nullopt;
    if (chunk == 0)
      chunk = tokens;
    else if (__builtin_mul_overflow(chunk / std::gcd(chunk, tokens), tokens, &chunk))
      return std::nullopt;
  }
  return chunk == 0 ? std::nullopt : std::optional(chunk);
}

}  // namespace kvedit::audit
