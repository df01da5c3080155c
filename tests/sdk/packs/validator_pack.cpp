// A pack without rules: it only judges groups.

#include <kvedit/rule.hpp>

namespace {

using namespace kvedit::rule;

struct SmallBlocks {
  Answer validate(const Group& group) const {
    for (std::size_t i = 0; i < group.leaves(); ++i) {
      const Layer leaf = group.leaf(i);
      if (leaf.block_size() > leaf.required_int("most"))
        return refuse("leaf {} of {} layers has blocks of {} tokens", i, group.layers(),
                      leaf.block_size());
    }
    return accept();
  }
};

}  // namespace

KVEDIT_RULE_PACK_WITH_VALIDATOR("odd.validator", "0.0.1", "Odd", SmallBlocks)
