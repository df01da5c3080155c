#pragma once

#include <cstddef>
#include <cstdint>
#include <set>
#include <span>
#include <string>
#include <string_view>

#include <kvedit/problem.hpp>
#include <kvedit/registration.hpp>

namespace kvedit::reference {

/// What a damage is done to.
struct Target {
  std::size_t group = 0;
  std::size_t layer = 0;   ///< in the group
  std::size_t tensor = 0;  ///< of the layer
  std::size_t axis = 0;    ///< of the tensor
};

/// What a damage depends on; golden tests try one target of each.
enum class Scope { registration, group, tensor, axis };

struct Damage {
  std::string_view name;
  Scope scope;
  std::set<Code> codes;  ///< names it rightly; of a registration that was right before
  /// False when it cannot be done to this target.
  bool (*apply)(RegistrationData& data, const Target& target);
};

std::span<const Damage> damages();

/// Gives the leaf spec of the layer another value of a field; false when there is no such spec.
bool change_spec(RegistrationData& data, const Target& target, std::string_view field,
                 std::int64_t value);

/// The leaf spec of the target.
const Spec& leaf_of(const RegistrationData& data, const Target& target);

/// The registered tensor of the target, or null.
Tensor* tensor_of(RegistrationData& data, const Target& target);
Cache* cache_of(RegistrationData& data, const std::string& layer);

}  // namespace kvedit::reference
