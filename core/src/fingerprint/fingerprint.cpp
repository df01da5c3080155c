#include <kvedit/result.hpp>

#include "base/text.hpp"
#include "fingerprint/canonical.hpp"

namespace kvedit {

std::optional<std::string> Result::group_layout_text(std::size_t group) const {
  return fingerprint::group_text(*edit_, group);
}

std::optional<std::string> Result::group_fingerprint(std::size_t group) const {
  return fingerprint::fingerprint_of(group_layout_text(group));
}

std::optional<std::string> Result::layout_text() const {
  std::string lines;
  for (std::size_t g = 0; g < groups().size(); ++g)
    if (const auto group = group_fingerprint(g)) lines += text("group ", *group, "\n");
  if (lines.empty()) return std::nullopt;
  return "kvedit.layout/1 model\n" + lines;
}

std::optional<std::string> Result::fingerprint() const {
  return fingerprint::fingerprint_of(layout_text());
}

}  // namespace kvedit
