#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include <kvedit/problem.hpp>
#include <kvedit/registration.hpp>
#include <kvedit/result.hpp>

#include "reference/memory.hpp"

/// The definition of ownership, written down a second time: every byte of every block is enumerated
/// on its own, nothing is merged, nothing is derived from strides. For small registrations only.
namespace kvedit::reference {

enum class Fate {
  served,
  excluded,
  refused,
  undetermined,  ///< too large to enumerate, or the definition leaves the choice open
};

struct LayerTruth {
  std::string name;
  std::int32_t group = -1;
  Fate fate = Fate::refused;
  std::string why;
  std::set<Code> codes;     ///< of a refused layer: any of these names the fault rightly
  bool may_refuse = false;  ///< served, but a refusal with one of `codes` is right as well
  bool recurrent = false;
  std::string no_rule;  ///< why no rule can say that its kernel pages are consecutive, or empty
  bool scratch = false;

  std::int64_t blocks = 0;
  std::int64_t kernel_pages = 0;      ///< 0: several numbers are right (a single block)
  std::optional<std::int64_t> slots;  ///< nothing: not determined here
  std::int64_t tokens = 0;
  bool window = false;
  std::int64_t item = 1;       ///< bytes of an element of its first tensor
  std::vector<Bytes> owned;    ///< by block
  std::vector<Bytes> payload;  ///< by block
};

struct Truth {
  std::vector<LayerTruth> layers;  ///< by group and order in it, then caches of no group

  bool any(Fate fate) const;
  std::set<Code> codes() const;  ///< of all refused layers
};

/// What is right for a registration. Rules are not modelled: a layer of several kernel pages is
/// served here as if a rule had said that they are consecutive.
/// @param most  bytes of a layer that are enumerated; a larger one is `undetermined`
Truth judge(const RegistrationData& data, Purpose purpose = Purpose::prefix,
            std::int64_t most = enumerable);

}  // namespace kvedit::reference
