#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace kvedit::fingerprint {

/// Fields of a layout text in their order; lines of one name are one field.
using Fields = std::vector<std::pair<std::string, std::string>>;

struct LayerFields {
  std::string name;  // as the text quotes it
  Fields fields;
};

struct LayoutFields {
  Fields whole;
  std::vector<LayerFields> layers;

  const LayerFields* find(std::string_view name) const;
};

/// Reads a group's layout text back.
LayoutFields read_layout(std::string_view text);

/// Nothing when the field is not there.
const std::string* value_of(const Fields& fields, std::string_view name);

}  // namespace kvedit::fingerprint
