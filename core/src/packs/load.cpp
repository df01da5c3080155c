#include "packs/load.hpp"

#include <exception>
#include <map>
#include <mutex>
#include <system_error>

#include <dlfcn.h>
#include <boost/dll/shared_library.hpp>

#include "packs/handshake.hpp"

namespace kvedit {
namespace {

namespace dll = boost::dll;

struct OpenedFile {
  dll::shared_library library;
  std::string sha256;
  PackTables tables;  // null until the handshake succeeded
};

/// Every pack that was ever opened. Never destroyed: packs outlive all users, also those that run
/// while the process ends.
struct Registry {
  std::mutex mutex;
  std::map<std::filesystem::path, OpenedFile> files;
};

Registry& registry() {
  static Registry* const kept = new Registry;
  return *kept;
}

Expected<dll::shared_library> open_library(const std::filesystem::path& file) {
  dll::shared_library library;
  std::error_code failed;
  library.load(file, failed, dll::load_mode::rtld_now | dll::load_mode::rtld_local);
  if (!failed) return library;
  const char* text = dlerror();  // the code is always the same, and asking twice gives null
  return Error{"", std::string("cannot be loaded: ") +
                       (text == nullptr ? failed.message() : std::string(text))};
}

Expected<PackTables> load_once(Registry& loaded, const std::filesystem::path& file,
                               const PackDescriptor& descriptor, const std::string& sha256) {
  auto opened = loaded.files.find(file);
  if (opened == loaded.files.end()) {
    Expected<dll::shared_library> library = open_library(file);
    if (!library) return library.error();
    opened = loaded.files.emplace(file, OpenedFile{*std::move(library), sha256, {}}).first;
  }
  // The loader gives the old code for a known path, whatever the file holds now.
  if (opened->second.sha256 != sha256)
    return Error{"", "the file changed after this process loaded it (sha256 " +
                         opened->second.sha256.substr(0, 12) + ", now " + sha256.substr(0, 12) +
                         "); restart the process to use the new one"};
  PackTables& tables = opened->second.tables;
  if (tables.rules == nullptr) {
    Expected<PackTables> shaken = shake_hands(opened->second.library, descriptor);
    if (!shaken) return shaken.error();
    tables = *shaken;
  }
  return tables;
}

}  // namespace

Expected<PackTables> load_pack(const std::filesystem::path& file, const PackDescriptor& descriptor,
                               const std::string& sha256) {
  Registry& loaded = registry();
  const std::lock_guard lock(loaded.mutex);
  try {
    return load_once(loaded, file, descriptor, sha256);
  } catch (const std::exception& thrown) {
    return Error{"", std::string("threw while it was loaded: ") + thrown.what()};
  } catch (...) {
    return Error{"", "threw while it was loaded"};
  }
}

}  // namespace kvedit
