#include "subjects.hpp"

#include <algorithm>
#include <optional>
#include <vector>

#include <kvedit/explain.hpp>
#include <kvedit/json.hpp>

#include "property/compare.hpp"
#include "property/recipe.hpp"
#include "reference/promises.hpp"
#include "reference/reference.hpp"

namespace kvedit::fuzz {
namespace {

constexpr std::int64_t most_bytes = 1 << 13;  // that the reference enumerates

std::optional<RegistrationData> registration_of(std::string_view bytes) {
  if (bytes.starts_with('{')) {
    Expected<Registration> read = read_registration(bytes);
    if (!read) return std::nullopt;
    return read->data();
  }
  Bytes choices(bytes);
  std::uint64_t seed = choices.next();
  seed = seed << 8 | choices.next();
  property::Drawn drawn = property::construct(property::draw(seed));
  if (!drawn.possible) return std::nullopt;
  damage(drawn.data, choices);
  return std::move(drawn.data);
}

std::string joined(const std::vector<std::string>& faults) {
  std::string text;
  for (const std::string& fault : faults) text += fault + "\n";
  return text;
}

/// What is served is served as the definition says. What is refused may be right: rules are not
/// part of the definition.
std::vector<std::string> served_wrongly(const Result& result) {
  const RegistrationData& data = result.registration().data();
  const auto many = [](std::int64_t blocks) { return blocks > 512; };
  if (!result.ok() || many(data.num_blocks)) return {};
  for (const Group& group : data.groups)
    if (many(group.num_blocks.value_or(1)) || many(group.spec.page_size_bytes >> 12)) return {};
  property::Tally tally;
  return property::differences(reference::judge(data, result.options().purpose, most_bytes), result,
                               property::Excuse::accident, tally);
}

}  // namespace

const Host& host() {
  static const Host opened = [] {
    HostOptions options;
    options.standard_rules_dir = KVEDIT_RULES_DIR;
    return *Host::open(options);
  }();
  return opened;
}

std::string reader_fault(std::string_view text) {
  const Expected<Registration> read = read_registration(text);
  if (!read) return read.error().message.empty() ? "refused without a reason" : "";
  const std::string written = write_registration(read->data());
  const Expected<Registration> again = read_registration(written);
  if (!again) return "what was written cannot be read: " + again.error().text();
  if (write_registration(again->data()) != written) return "what was written is read as another";
  return "";
}

std::string edit_fault(std::string_view bytes) {
  const std::optional<RegistrationData> data = registration_of(bytes);
  if (!data) return "";
  const Registration registration(*data);
  const Result native = host().edit(registration);
  std::vector<std::string> faults = reference::broken_promises(host(), native, 512);
  const auto add = [&](const std::vector<std::string>& more) {
    faults.insert(faults.end(), more.begin(), more.end());
  };
  add(reference::broken_texts(host(), native));
  add(served_wrongly(native));
  EditOptions transfer;
  transfer.purpose = Purpose::transfer;
  transfer.pass_ungrouped = true;
  add(reference::broken_promises(host().edit(registration, transfer), 512));
  if (explain(native).empty()) faults.push_back("nothing to say about it");
  return joined(faults);
}

}  // namespace kvedit::fuzz
