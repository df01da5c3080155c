#include "files.hpp"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <stdexcept>

#include <boost/json.hpp>

namespace kvedit::golden {
namespace {

namespace json = boost::json;
namespace fs = std::filesystem;

const fs::path& folder() {
  static const fs::path path = fs::path(KVEDIT_TEST_DATA) / "registrations";
  return path;
}

std::string read_text(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) throw std::runtime_error("cannot read " + path.string());
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

std::int64_t integer(const json::object& object, const char* name) {
  const json::value* value = object.if_contains(name);
  return value == nullptr ? 0 : value->as_int64();
}

std::vector<std::pair<std::int64_t, std::int64_t>> ranges(const json::value& value) {
  std::vector<std::pair<std::int64_t, std::int64_t>> all;
  for (const json::value& range : value.as_array())
    all.emplace_back(range.as_array().at(0).as_int64(), range.as_array().at(1).as_int64());
  return all;
}

ExpectedLayer layer_of(const json::object& object) {
  ExpectedLayer layer;
  if (const json::value* outcome = object.if_contains("outcome"))
    layer.outcome = std::string(outcome->as_string());
  layer.blocks = integer(object, "blocks");
  layer.kernel_pages = integer(object, "kernel_pages");
  layer.slots = integer(object, "slots");
  layer.tokens = integer(object, "tokens");
  if (const json::value* parts = object.if_contains("parts"))
    for (const json::value& each : parts->as_array()) {
      const json::object& part = each.as_object();
      layer.parts.push_back({std::string(part.at("storage").as_string()), integer(part, "base"),
                             integer(part, "block_stride"), ranges(part.at("ranges"))});
    }
  if (const json::value* owned = object.if_contains("owned"))
    for (const auto& [storage, value] : owned->as_object())
      layer.owned[std::string(storage)] = ranges(value);
  return layer;
}

}  // namespace

std::vector<std::string> registration_names() {
  std::vector<std::string> names;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder()))
    if (entry.path().extension() == ".json") names.push_back(entry.path().stem().string());
  std::sort(names.begin(), names.end());
  return names;
}

std::string registration_text(const std::string& name) {
  return read_text(folder() / (name + ".json"));
}

ExpectedReport expected_report(const std::string& name) {
  const json::value root = json::parse(read_text(folder() / "expected" / (name + ".json")));
  ExpectedReport report;
  if (const json::value* codes = root.as_object().if_contains("refused_as_one_of"))
    for (const json::value& code : codes->as_array())
      report.refused_as_one_of.insert(std::string(code.as_string()));
  if (const json::value* layers = root.as_object().if_contains("layers"))
    for (const auto& [layer, value] : layers->as_object())
      report.layers[std::string(layer)] = layer_of(value.as_object());
  return report;
}

}  // namespace kvedit::golden
