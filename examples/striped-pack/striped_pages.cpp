// An engine that stripes the kernel pages of a block over its pool: with B blocks, block b is the
// entries b, b+B, b+2B, … of axis 0. Nothing in shapes and strides says so, only the class of the
// spec; kvedit proves everything but the order, and reports that as declared.

#include <kvedit/rule.hpp>

namespace {

using namespace kvedit::rule;

struct StripedPages {
  static constexpr const char* id = "example.striped-pages";
  static constexpr const char* summary = "kernel pages of a block striped over the pool";
  static constexpr int priority = 100;
  static constexpr Tier tier = Tier::vendor;

  Answer answer(const Layer& layer) const {
    if (!layer.is_a("StripedAttentionSpec"))
      return no_match("spec is {}, not StripedAttentionSpec", layer.type());
    if (layer.tensors() != 1 || layer.tensor(0).rank() != 4)
      return refuse("a striped layer has one tensor of rank 4; this one has {} tensors",
                    layer.tensors());
    const Tensor pool = layer.tensor(0);
    const Entries k = layer.entries_per_block(0);
    if (!k) return refuse(k.why());
    const Box pages =
        pool.axes(Role::block, Role::token, Role::head, Role::content).striped(k.count());
    if (!pages) return refuse(pages.why());
    return match(pages, "{} kernel pages of {} bytes, {} entries apart", k.count(),
                 pool.entry_bytes(0), layer.num_blocks());
  }
};

}  // namespace

KVEDIT_RULE_PACK("example.striped", "1.0.0", "Example Ltd.", StripedPages)
