#include "packs/packs.hpp"

#include <algorithm>
#include <map>
#include <optional>
#include <string_view>

#include "packs/find.hpp"
#include "packs/refusals.hpp"

namespace kvedit {
namespace {

bool of_kvedit(std::string_view id) { return id.starts_with("kvedit."); }

/// Why a pack is not to be trusted with running in this process, before any of its code runs.
std::optional<std::string> refusal_before_load(const FoundFile& found) {
  if (found.standard) return std::nullopt;
  const auto reserved = [](const std::string& what) {
    return what + ", which is kept for the directory of the standard rules; choose another";
  };
  if (of_kvedit(found.descriptor->id)) return reserved("its id is " + found.descriptor->id);
  for (const DescribedRule& rule : found.descriptor->rules) {
    if (of_kvedit(rule.id)) return reserved("it has a rule " + rule.id);
    if (rule.tier == KVEDIT_TIER_STANDARD)
      return reserved("rule " + rule.id + " asks for the tier standard");
  }
  return std::nullopt;
}

/// Ids belong to the file that had them first, also when it was refused later on: a broken pack
/// must not be replaced silently by another of its name.
class Owners {
 public:
  std::optional<std::string> refusal(const FoundFile& found) const {
    if (const std::string* first = find(packs_, found.descriptor->id))
      return "pack id " + found.descriptor->id + " is taken by " + *first + ", this is " +
             found.info.path + "; remove one of them";
    for (const DescribedRule& rule : found.descriptor->rules)
      if (const std::string* first = find(rules_, rule.id))
        return "rule id " + rule.id + " is taken by " + *first + ", this is " + found.info.path +
               "; remove one of them";
    return std::nullopt;
  }

  void add(const FoundFile& found) {
    packs_.emplace(found.descriptor->id, found.info.path);
    for (const DescribedRule& rule : found.descriptor->rules)
      rules_.emplace(rule.id, found.info.path);
  }

 private:
  using Paths = std::map<std::string, std::string>;

  static const std::string* find(const Paths& paths, const std::string& id) {
    const auto at = paths.find(id);
    return at == paths.end() ? nullptr : &at->second;
  }

  Paths packs_, rules_;
};

/// Whether there is a rule pack in the standard directory, be it one that cannot be used.
bool any_standard(const std::vector<FoundFile>& files) {
  return std::any_of(files.begin(), files.end(), [](const FoundFile& found) {
    return found.standard && found.info.state != PackInfo::State::skipped;
  });
}

void add_rules(const FoundFile& found, std::size_t pack, std::vector<LoadedRule>& rules) {
  const PackDescriptor& descriptor = *found.descriptor;
  for (std::size_t i = 0; i < descriptor.rules.size(); ++i) {
    const DescribedRule& rule = descriptor.rules[i];
    rules.push_back({pack, static_cast<std::uint32_t>(i), rule.tier,
                     RuleInfo{rule.id, descriptor.id, descriptor.version, tier_name(rule.tier),
                              rule.priority, found.info.sha256}});
  }
}

/// Gives why the pack cannot be used, or nothing.
std::optional<std::string> load(const FoundFile& found, Owners& owners, LoadedPacks& loaded) {
  if (auto reason = refusal_before_load(found)) return reason;
  if (auto reason = owners.refusal(found)) return reason;
  owners.add(found);
  const Expected<PackTables> tables = load_pack(found.file, *found.descriptor, found.info.sha256);
  if (!tables) return tables.error().message;
  add_rules(found, loaded.packs.size(), loaded.rules);
  loaded.packs.push_back({found.descriptor->id, *tables});
  return std::nullopt;
}

}  // namespace

Expected<LoadedPacks> load_packs(const HostOptions& options, const Surroundings& surroundings) {
  Expected<std::vector<FoundFile>> files =
      find_files(search_places(options, surroundings), standard_directory(options));
  if (!files) return files.error();
  if (options.standard_rules && !options.standard_rules_dir.empty() && !any_standard(*files))
    return Error{options.standard_rules_dir,
                 "no rule pack is in it, and it was given as the directory of the standard rules; "
                 "give the right one, or switch the standard rules off"};

  LoadedPacks loaded;
  Owners owners;
  for (FoundFile& found : *files) {
    if (!found.descriptor) continue;
    if (std::optional<std::string> reason = load(found, owners, loaded)) {
      found.info.state = PackInfo::State::refused;
      found.info.reason = *std::move(reason);
    }
  }
  put_in_order(loaded.rules);
  loaded.problems = refusals(*files, options.required_packs);
  for (FoundFile& found : *files) loaded.infos.push_back(std::move(found.info));
  return loaded;
}

Expected<LoadedPacks> load_packs(const HostOptions& options) {
  return load_packs(options,
                    options.environment ? Surroundings::of_this_process() : Surroundings{});
}

}  // namespace kvedit
