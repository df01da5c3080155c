#include "model/backends.hpp"

#include <algorithm>
#include <array>

namespace kvedit {

bool has_private_order(std::string_view backend) {
  constexpr std::array<std::string_view, 4> known = {"CPUAttentionBackend", "CPU_ATTN",
                                                     "TorchSDPABackend", "TORCH_SDPA"};
  const std::size_t dot = backend.rfind('.');
  const std::string_view name = dot == std::string_view::npos ? backend : backend.substr(dot + 1);
  return std::find(known.begin(), known.end(), name) != known.end();
}

bool has_private_order(const RegistrationData& data, const std::string& layer) {
  if (data.backends.empty()) return false;
  const auto backend = data.backends.find(layer);
  return backend != data.backends.end() && has_private_order(backend->second);
}

}  // namespace kvedit
