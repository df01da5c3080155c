// The corpus of the fuzzers, without a fuzzer: every build replays it.

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include <catch2/catch.hpp>

#include "subjects.hpp"

namespace kvedit::fuzz {
namespace {

struct File {
  std::string name;
  std::string bytes;
};

std::vector<File> files_in(const std::string& folder) {
  std::vector<File> files;
  for (const auto& entry :
       std::filesystem::directory_iterator(std::string(KVEDIT_TEST_DATA) + "/" + folder)) {
    if (!entry.is_regular_file()) continue;
    std::ostringstream bytes;
    bytes << std::ifstream(entry.path(), std::ios::binary).rdbuf();
    files.push_back({entry.path().filename().string(), bytes.str()});
  }
  std::sort(files.begin(), files.end(),
            [](const File& a, const File& b) { return a.name < b.name; });
  return files;
}

void replay(const std::string& folder, std::string (*fault)(std::string_view)) {
  const std::vector<File> files = files_in(folder);
  REQUIRE(files.size() >= 20);
  for (const File& file : files) {
    INFO(folder << "/" << file.name);
    CHECK(fault(file.bytes) == "");
  }
}

}  // namespace

TEST_CASE("the reader keeps its promises on its corpus") {
  replay("fuzz/corpus/reader", reader_fault);
  replay("registrations", reader_fault);
}

TEST_CASE("an edit keeps its promises on its corpus") {
  replay("fuzz/corpus/edit", edit_fault);
  replay("registrations", edit_fault);
}

TEST_CASE("a text cut anywhere is read whole or not at all") {
  for (const File& file : files_in("registrations")) {
    if (file.bytes.size() > 1200) continue;
    INFO(file.name);
    for (std::size_t size = 0; size < file.bytes.size(); ++size)
      CHECK(reader_fault(std::string_view(file.bytes).substr(0, size)) == "");
  }
}

TEST_CASE("damage by any bytes leaves a registration that an edit answers") {
  for (int first = 0; first < 256; ++first) {
    std::string bytes{'\1', static_cast<char>(first)};
    for (int i = 0; i < 40; ++i) bytes += static_cast<char>(first * 37 + i * i * 11);
    INFO(first);
    CHECK(edit_fault(bytes) == "");
  }
}

}  // namespace kvedit::fuzz
