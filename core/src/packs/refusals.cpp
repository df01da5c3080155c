#include "packs/refusals.hpp"

#include <algorithm>
#include <set>

#include "base/utf8.hpp"

namespace kvedit {
namespace {

/// Takes the directories in which files were found out of texts.
class Directories {
 public:
  explicit Directories(const std::vector<FoundFile>& files) {
    for (const FoundFile& found : files)
      for (const std::filesystem::path& path : {std::filesystem::path(found.info.path), found.file})
        if (path.has_parent_path() && path.parent_path() != path.root_path())
          prefixes_.insert(path.parent_path().string() + "/");
  }

  std::string strip(std::string text) const {
    // The longest first: one may be the end of another.
    std::vector<std::string> longest(prefixes_.begin(), prefixes_.end());
    std::stable_sort(longest.begin(), longest.end(),
                     [](const auto& a, const auto& b) { return a.size() > b.size(); });
    for (const std::string& prefix : longest)
      for (std::size_t at = 0; (at = text.find(prefix, at)) != text.npos;)
        text.erase(at, prefix.size());
    return text;
  }

 private:
  std::set<std::string> prefixes_;
};

/// Names of files and texts of the loader may hold any bytes.
std::string as_text(std::string text) {
  if (!valid_utf8(text))
    std::replace_if(
        text.begin(), text.end(), [](unsigned char c) { return c >= 0x80; }, '?');
  return text;
}

Problem refused(const FoundFile& found, bool wanted, const Directories& directories) {
  const std::string file = as_text(std::filesystem::path(found.info.path).filename().string());
  Problem problem;
  problem.severity = wanted ? Severity::error : Severity::warning;
  problem.code = found.missing ? Code::pack_missing : Code::pack_refused;
  problem.message = "rule pack " + file;
  if (!found.info.id.empty()) problem.message += " (" + found.info.id + ")";
  problem.message += found.missing ? " is missing: " : " is refused: ";
  problem.message += as_text(directories.strip(found.info.reason));
  problem.facts.push_back({"file", file});
  if (!found.info.id.empty()) problem.facts.push_back({"pack", found.info.id});
  return problem;
}

Problem missing(const std::string& id) {
  Problem problem;
  problem.severity = Severity::error;
  problem.code = Code::pack_missing;
  problem.message = "rule pack " + id +
                    " is required and was not found; put it where packs are looked for, or name "
                    "its file";
  problem.facts.push_back({"pack", id});
  return problem;
}

}  // namespace

std::vector<Problem> refusals(const std::vector<FoundFile>& files,
                              const std::vector<std::string>& required_packs) {
  std::set<std::string> loaded, seen;
  for (const FoundFile& found : files) {
    if (found.info.id.empty()) continue;
    seen.insert(found.info.id);
    if (found.info.state == PackInfo::State::loaded) loaded.insert(found.info.id);
  }
  const std::set<std::string> required(required_packs.begin(), required_packs.end());
  const auto absent = [&](const std::string& id) {
    return required.count(id) != 0 && loaded.count(id) == 0;
  };

  std::vector<Problem> problems;
  const Directories directories(files);
  for (const FoundFile& found : files)
    if (found.info.state == PackInfo::State::refused)
      problems.push_back(refused(found, found.named || absent(found.info.id), directories));
  for (const std::string& id : required)
    if (seen.count(id) == 0) problems.push_back(missing(id));
  return problems;
}

}  // namespace kvedit
