#pragma once

#include <map>
#include <string_view>
#include <vector>

#include <kvedit/result.hpp>

#include "elements.hpp"

namespace kvedit::verify {

/// What a registration says about one layer; nothing that kvedit found out.
struct LayerFacts {
  const Spec* spec = nullptr;
  std::vector<Elements> tensors;
  std::int64_t blocks = 0;
  std::int64_t placed_stride = 0;  ///< block stride of its placement; 0 without one
};

/// Finds them by name. Lives as long as the registration.
class Facts {
 public:
  explicit Facts(const Registration& registration);

  /// @param group  index into the registration's groups
  LayerFacts of(std::string_view layer, std::int32_t group) const;

 private:
  const RegistrationData& data_;
  std::map<std::string_view, std::int32_t> storages_;
  std::map<std::string_view, const Cache*> caches_;
  std::map<std::string_view, const Placement*> placements_;
};

}  // namespace kvedit::verify
