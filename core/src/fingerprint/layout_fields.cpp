#include "fingerprint/layout_fields.hpp"

namespace kvedit::fingerprint {
namespace {

void add(Fields& fields, std::string_view name, std::string_view value) {
  if (!fields.empty() && fields.back().first == name)
    fields.back().second += "; " + std::string(value);
  else
    fields.emplace_back(name, value);
}

}  // namespace

LayoutFields read_layout(std::string_view text) {
  LayoutFields layout;
  bool head = true;
  while (!text.empty()) {
    const std::size_t end = text.find('\n');
    const std::string_view line = text.substr(0, end);
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
    const std::size_t blank = line.find(' ');
    const std::string_view name = line.substr(0, blank);
    const std::string_view value =
        blank == std::string_view::npos ? std::string_view() : line.substr(blank + 1);
    if (std::exchange(head, false)) continue;
    if (name == "layer")
      layout.layers.push_back({std::string(value), {}});
    else
      add(layout.layers.empty() ? layout.whole : layout.layers.back().fields, name, value);
  }
  return layout;
}

const std::string* value_of(const Fields& fields, std::string_view name) {
  for (const auto& [field, value] : fields)
    if (field == name) return &value;
  return nullptr;
}

const LayerFields* LayoutFields::find(std::string_view name) const {
  for (const LayerFields& layer : layers)
    if (layer.name == name) return &layer;
  return nullptr;
}

}  // namespace kvedit::fingerprint
