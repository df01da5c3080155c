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

/// The given registrations, and those of tests/field, whose names begin with `field/`.
constexpr const char* field = "field/";

fs::path folder_of(const std::string& name) {
  const fs::path tests = KVEDIT_TEST_DATA;
  return name.starts_with(field) ? tests / "field" / "registrations" : tests / "registrations";
}

fs::path file_of(const std::string& name) { return fs::path(name).filename().string() + ".json"; }

void add_names(const std::string& prefix, std::vector<std::string>& names) {
  for (const fs::directory_entry& entry : fs::directory_iterator(folder_of(prefix)))
    if (entry.path().extension() == ".json") names.push_back(prefix + entry.path().stem().string());
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

std::vector<std::int64_t> integers(const json::value& value) {
  std::vector<std::int64_t> all;
  for (const json::value& each : value.as_array()) all.push_back(each.as_int64());
  return all;
}

ExpectedView view_of(const json::object& object) {
  ExpectedView view{integers(object.at("shape")), integers(object.at("stride")),
                    std::string(object.at("dtype").as_string())};
  if (const json::value* axes = object.if_contains("axes"))
    for (const json::value& axis : axes->as_array()) view.axes.emplace_back(axis.as_string());
  return view;
}

ExpectedProblem problem_of(const json::object& object) {
  ExpectedProblem problem;
  problem.code = object.at("code").as_string();
  if (object.at("layer").is_string()) problem.layer = object.at("layer").as_string();
  if (object.at("group").is_int64()) problem.group = object.at("group").as_int64();
  for (const auto& [name, value] : object.at("facts").as_object())
    problem.facts[std::string(name)] =
        value.is_string() ? std::string(value.as_string()) : std::to_string(value.as_int64());
  for (const json::value& words : object.at("says").as_array())
    problem.says.emplace_back(words.as_string());
  return problem;
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
  if (const json::value* views = object.if_contains("views"))
    for (const auto& [profile, value] : views->as_object())
      for (const json::value& view : value.as_array())
        layer.views[std::string(profile)].push_back(view_of(view.as_object()));
  return layer;
}

}  // namespace

std::vector<std::string> registration_names() {
  std::vector<std::string> names;
  add_names("", names);
  add_names(field, names);
  std::sort(names.begin(), names.end());
  return names;
}

std::string registration_text(const std::string& name) {
  return read_text(folder_of(name) / file_of(name));
}

ExpectedReport expected_report(const std::string& name) {
  const json::value root = json::parse(read_text(folder_of(name) / "expected" / file_of(name)));
  ExpectedReport report;
  if (const json::value* codes = root.as_object().if_contains("refused_as_one_of"))
    for (const json::value& code : codes->as_array())
      report.refused_as_one_of.insert(std::string(code.as_string()));
  if (const json::value* problems = root.as_object().if_contains("problems"))
    for (const json::value& problem : problems->as_array())
      report.problems.push_back(problem_of(problem.as_object()));
  if (const json::value* profiles = root.as_object().if_contains("refused_profiles"))
    for (const auto& [profile, why] : profiles->as_object())
      report.refused_profiles.emplace(profile);
  if (const json::value* chunk = root.as_object().if_contains("chunk_tokens"))
    report.chunk_tokens = chunk->as_int64();
  if (const json::value* layers = root.as_object().if_contains("layers"))
    for (const auto& [layer, value] : layers->as_object())
      report.layers[std::string(layer)] = layer_of(value.as_object());
  return report;
}

}  // namespace kvedit::golden
