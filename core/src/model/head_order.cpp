#include "model/head_order.hpp"

#include <algorithm>
#include <string_view>

namespace kvedit {

HeadOrder read_back_order(const RegistrationData& data) {
  const std::string_view layout = data.layout;
  if (layout == "LHBNC" || layout == "BHLNC") return HeadOrder::outermost;
  if (layout == "HND" || layout == "LBHNC" || layout == "BLHNC") return HeadOrder::heads_first;
  if (!layout.empty()) return HeadOrder::tokens_first;
  const bool on_cpu = !data.storages.empty() &&
                      std::all_of(data.storages.begin(), data.storages.end(),
                                  [](const Storage& storage) { return storage.device == "cpu"; });
  return on_cpu ? HeadOrder::heads_first : HeadOrder::tokens_first;
}

}  // namespace kvedit
