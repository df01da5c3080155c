#pragma once

#include <optional>

#include "model/edit.hpp"
#include "model/head_order.hpp"

namespace kvedit::present {

/// What profile `lmcache` depends on beside the page.
struct Reader {
  HeadOrder order = HeadOrder::tokens_first;
  RecurrentRows recurrent_rows = RecurrentRows::tight;
};

/// Gives a proved class of layers its views in a profile, and with them `slots` and `opaque`, which
/// are the same in every profile. Fails with `profile` when the profile cannot show the page.
std::optional<Failure> present(LayerClass& of, Profile profile, const Reader& reader = {});

}  // namespace kvedit::present
