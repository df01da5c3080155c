#include "packs/find.hpp"

#include <kvedit/rule_abi.h>

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <system_error>

#include "packs/elf.hpp"
#include "packs/input_file.hpp"

namespace kvedit {
namespace {

namespace fs = std::filesystem;

constexpr std::uint64_t max_file_bytes = std::uint64_t{256} << 20;

/// Without links where that can be told.
fs::path resolved(const fs::path& path) {
  std::error_code failed;
  fs::path result = fs::canonical(path, failed);
  return failed ? path : result;
}

Expected<std::vector<fs::path>> list_libraries(const fs::path& directory) {
  std::error_code failed;
  std::vector<fs::path> files;
  for (fs::directory_iterator entry(directory, failed), end; !failed && entry != end;
       entry.increment(failed))
    if (entry->path().native().ends_with(".so")) files.push_back(entry->path());
  if (failed) return Error{directory.string(), failed.message()};
  std::sort(files.begin(), files.end());
  return files;
}

void mark(FoundFile& found, PackInfo::State state, std::string reason) {
  found.info.state = state;
  found.info.reason = std::move(reason);
}

void describe(FoundFile& found, PackDescriptor descriptor) {
  found.info.id = descriptor.id;
  found.info.version = descriptor.version;
  found.info.vendor = descriptor.vendor;
  for (const DescribedRule& rule : descriptor.rules) found.info.rules.push_back(rule.id);
  found.descriptor = std::move(descriptor);
}

/// Reads what the file says of itself.
void inspect(FoundFile& found) {
  const auto refuse = [&](std::string why) {
    mark(found, PackInfo::State::refused, std::move(why));
  };
  const Expected<InputFile> file = InputFile::open(found.file);
  if (!file) return refuse("cannot be read: " + file.error().message);
  const SectionRead section = read_elf_section(*file, KVEDIT_RULE_SECTION);
  if (section.state == SectionRead::State::damaged) return refuse(section.reason);
  if (section.state == SectionRead::State::absent)
    return mark(found, found.named ? PackInfo::State::refused : PackInfo::State::skipped,
                "not a rule pack: " + section.reason);
  if (file->size() > max_file_bytes)
    return refuse("a file of " + std::to_string(file->size()) + " bytes; " +
                  std::to_string(max_file_bytes) + " is the most");
  Expected<std::string> sha256 = file->sha256();
  if (!sha256) return refuse("cannot be read: " + sha256.error().message);
  found.info.sha256 = *std::move(sha256);
  Expected<PackDescriptor> descriptor = read_descriptor(section.bytes);
  if (!descriptor) return refuse(descriptor.error().message);
  describe(found, *std::move(descriptor));
}

class Search {
 public:
  explicit Search(const fs::path& standard_directory) : standard_(resolved(standard_directory)) {}

  /// Errors: the place must be there and cannot be read.
  std::optional<Error> look_at(const Place& place) {
    if (place.kind == Place::Kind::file) {
      add_file(place, place.path);
      return std::nullopt;
    }
    const Expected<std::vector<fs::path>> files = list_libraries(place.path);
    if (!files) return add_absent(place, files.error());
    if (!directories_.insert(resolved(place.path)).second) return std::nullopt;
    for (const fs::path& file : *files) add_file(place, file);
    return std::nullopt;
  }

  std::vector<FoundFile> take() { return std::move(found_); }

 private:
  FoundFile& add(const Place& place, const fs::path& path) {
    FoundFile& found = found_.emplace_back();
    found.info.path = path.string();
    found.info.origin = place.origin;
    found.file = path;
    found.named = place.kind == Place::Kind::file;
    return found;
  }

  void add_file(const Place& place, const fs::path& path) {
    FoundFile& found = add(place, path);
    std::error_code failed;
    const fs::file_type type = fs::status(path, failed).type();
    if (type != fs::file_type::regular) {
      found.missing = type == fs::file_type::not_found;
      const bool readable = !failed || found.missing;
      return mark(found, found.named ? PackInfo::State::refused : PackInfo::State::skipped,
                  found.missing ? "there is no such file"
                  : readable    ? "not a regular file"
                                : "cannot be read: " + failed.message());
    }
    found.file = resolved(path);
    const auto [earlier, first] = files_.emplace(found.file, path);
    if (!first)
      return mark(found, PackInfo::State::skipped,
                  "the file already looked at as " + earlier->second.string());
    found.standard =
        found.file.parent_path() == standard_ || resolved(path.parent_path()) == standard_;
    inspect(found);
  }

  std::optional<Error> add_absent(const Place& place, const Error& error) {
    if (place.absence == Place::Absence::error)
      return Error{error.where, "the directory of rule packs (" + place.origin +
                                    ") cannot be read: " + error.message +
                                    "; create it or take it out of the options"};
    std::error_code ignored;
    const bool exists = fs::status(place.path, ignored).type() != fs::file_type::not_found;
    if (exists || place.absence == Place::Absence::shown)
      mark(add(place, place.path), PackInfo::State::skipped,
           "the directory cannot be read: " + error.message);
    return std::nullopt;
  }

  fs::path standard_;
  std::vector<FoundFile> found_;
  std::set<fs::path> directories_;
  std::map<fs::path, fs::path> files_;  // without links → as first found
};

}  // namespace

Expected<std::vector<FoundFile>> find_files(const std::vector<Place>& places,
                                            const fs::path& standard_directory) {
  Search search(standard_directory);
  for (const Place& place : places)
    if (std::optional<Error> error = search.look_at(place)) return *error;
  return search.take();
}

}  // namespace kvedit
