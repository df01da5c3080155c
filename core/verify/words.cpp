#include <map>
#include <sstream>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include <kvedit/printable.hpp>
#include <kvedit/version.hpp>

#include "verify.hpp"

namespace kvedit::verify {
namespace {

/// Layers of which the same is to be said.
struct Alike {
  std::vector<std::size_t> layers;
  std::vector<std::int32_t> groups;
};

template <class Numbers>
std::string list(const Numbers& numbers) {
  std::string all;
  for (const auto number : numbers) all += (all.empty() ? "" : ", ") + std::to_string(number);
  return all;
}

std::string counted(std::size_t count, const char* one, const char* many) {
  return std::to_string(count) + " " + (count == 1 ? one : many);
}

auto key_of(const LayerResult& layer, const LayerCheck& check) {
  const NaiveReading& naive = check.naive;
  const std::string reason(layer.reason());
  return std::tuple(check.moved, check.moved ? layer.layer_class() : 0,
                    reason.substr(0, reason.find(' ')), check.faults, check.payload_bytes,
                    check.right_bytes, check.right_in_views, check.untouched_bytes,
                    check.damaged_bytes, naive.copied_bytes, naive.right_bytes);
}

std::vector<Alike> classes_of(const Result& result, const Report& report) {
  using Key = decltype(key_of(result.layer(0), report.layers[0]));
  std::vector<Alike> classes;
  std::map<Key, std::size_t> known;
  for (const LayerCheck& check : report.layers) {
    const LayerResult layer = result.layer(check.layer);
    if (!check.moved && layer.outcome() != Outcome::excluded) continue;  // not asked for
    const auto [at, added] = known.emplace(key_of(layer, check), classes.size());
    if (added) classes.emplace_back();
    Alike& alike = classes[at->second];
    alike.layers.push_back(check.layer);
    if (alike.groups.empty() || alike.groups.back() != layer.group())
      alike.groups.push_back(layer.group());
  }
  return classes;
}

std::string name_of(const Result& result, const Alike& alike) {
  std::string words = "  " + std::to_string(alike.layers.size()) + " x " +
                      printable(result.layer(alike.layers.front()).name());
  if (alike.groups.size() == 1 && alike.groups.front() < 0) return words + " (no group)";
  return words + (alike.groups.size() == 1 ? " (group " : " (groups ") + list(alike.groups) + ")";
}

std::string naive_words(const NaiveReading& naive, const LayerCheck& check, std::int64_t blocks) {
  std::ostringstream words;
  words << "      naive reading, entry b of dim 0 for block b: ";
  if (naive.tried && naive.is_block)
    words << "the same here, " << naive.right_bytes << " of " << check.payload_bytes
          << " payload bytes right";
  else if (naive.tried)
    words << "copies " << naive.copied_bytes << " bytes, " << naive.right_bytes << " of "
          << check.payload_bytes << " payload bytes right";
  else if (naive.is_block)
    words << "the same here";
  else if (naive.entries < blocks)
    words << "wrong, " << naive.entries << " entries for " << blocks << " blocks";
  else
    words << "wrong, an entry has " << naive.entry_bytes << " bytes";
  words << "\n";
  return words.str();
}

std::string class_words(const Result& result, const Report& report, const Alike& alike) {
  const LayerCheck& check = report.layers[alike.layers.front()];
  const LayerResult layer = result.layer(check.layer);
  std::ostringstream words;
  words << name_of(result, alike) << " " << to_text(layer.outcome());
  if (!layer.rule().empty()) words << " by " << printable(layer.rule());
  words << ": " << (check.ok() ? "ok" : "WRONG") << "\n";
  for (const std::string& fault : check.faults) words << "      " << printable(fault) << "\n";
  if (check.blocks == 0) return words.str();
  words << "      " << counted(static_cast<std::size_t>(check.blocks), "block", "blocks") << ", "
        << check.payload_bytes << " payload bytes: " << check.right_bytes
        << " right through the page map, " << check.right_in_views << " through the views\n"
        << "      " << check.untouched_bytes << " bytes of padding and neighbours compared, "
        << (check.damaged_bytes == 0 ? "all untouched"
                                     : std::to_string(check.damaged_bytes) + " other bytes wrong")
        << "\n";
  if (!check.by_tensors)
    words << "      judged by page map and views only: the order of its bytes is the word of the "
             "rule\n";
  return words.str() + naive_words(check.naive, check, layer.pages()->blocks);
}

std::string move_words(const GroupMove& move) {
  if (move.from == move.to) return "block " + list(move.from) + " came back as itself";
  return (move.from.size() == 1 ? "block " : "blocks ") + list(move.from) + " came back as " +
         list(move.to);
}

std::string together_words(const Together& together) {
  if (together.shared_bytes > 0)
    return "warning: blocks of different groups share " + std::to_string(together.shared_bytes) +
           " bytes under different ids; groups were moved one at a time, because ids held at once "
           "would write over each other\n";
  if (!together.tried) return "";
  std::string words = "  all at once: ";
  for (const GroupMove& move : together.moves)
    words += (&move == &together.moves.front() ? "group " : ", group ") +
             std::to_string(move.group) + " " + list(move.from) + " as " + list(move.to);
  return words + "\n";
}

std::string head(const Result& result, const Report& report) {
  const RegistrationData& data = result.registration().data();
  std::size_t moved = 0;
  std::size_t wrong = 0;
  for (const LayerCheck& check : report.layers) {
    if (check.moved) ++moved;
    if (!check.ok()) ++wrong;
  }
  std::ostringstream words;
  words << "kvedit " << KVEDIT_VERSION
        << " verify: " << (data.model.empty() ? "registration" : printable(data.model));
  if (!data.engine_name.empty())
    words << " on " << printable(data.engine_name) << " " << printable(data.engine_version);
  if (!data.layout.empty()) words << ", layout " << data.layout;
  words << ", " << data.num_blocks << (data.num_blocks == 1 ? " block" : " blocks") << ", profile "
        << to_text(result.options().profile) << ", purpose " << to_text(result.options().purpose)
        << "\n";
  if (moved == 0)
    words << (result.layer_count() == 0 ? "nothing moved: there are no layers"
                                        : "nothing moved: every layer asked for is excluded");
  else if (report.ok())
    words << "ok: " << counted(moved, "layer", "layers")
          << " stored, wiped, brought back under other block ids";
  else
    words << "WRONG: " << wrong << " of " << counted(moved, "layer", "layers");
  words << "\n"
        << counted(data.storages.size(), "storage", "storages") << " as registered, "
        << report.reserved_bytes << " bytes reserved; " << report.compared_bytes
        << " bytes compared; seed " << report.seed << "\n";
  return words.str();
}

}  // namespace

std::string in_words(const Result& result, const Report& report) {
  std::string words;
  for (const Problem& problem : result.problems())
    words += std::string(to_text(problem.severity)) + " " + std::string(to_text(problem.code)) +
             ": " + printable(problem.message) + "\n";
  for (const std::string& fault : report.faults) words += "wrong: " + printable(fault) + "\n";
  words += head(result, report) + "\ngroups\n";
  for (const GroupMove& move : report.moves)
    words += "  " + std::to_string(move.group) + ": " + move_words(move) + "\n";
  words += together_words(report.together) + "\nlayers\n";
  for (const Alike& alike : classes_of(result, report)) {
    const LayerResult layer = result.layer(alike.layers.front());
    if (layer.outcome() == Outcome::excluded)
      words += name_of(result, alike) + " excluded: " + printable(layer.reason()) + "\n";
    else
      words += class_words(result, report, alike);
  }
  return words;
}

}  // namespace kvedit::verify
