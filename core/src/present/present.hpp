#pragma once

#include <optional>

#include "model/edit.hpp"

namespace kvedit::present {

/// Gives a proved class of layers its views in a profile, and with them `slots` and `opaque`, which
/// are the same in every profile. Fails with `profile` when the profile cannot show the page.
std::optional<Failure> present(LayerClass& of, Profile profile);

}  // namespace kvedit::present
