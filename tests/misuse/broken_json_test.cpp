#include <string>

#include <catch2/catch.hpp>

#include <kvedit/json.hpp>

#include "small_registration.hpp"

using namespace kvedit;
using kvedit::testing::small_registration;

namespace {

Error refused(const std::string& text, const ReadLimits& limits = {}) {
  const auto registration = read_registration(text, limits);
  INFO(text.substr(0, 400));
  REQUIRE_FALSE(registration);
  CHECK_FALSE(registration.error().message.empty());
  return registration.error();
}

std::string replaced(std::string text, std::string_view from, std::string_view to) {
  const std::size_t at = text.find(from);
  REQUIRE(at != std::string::npos);
  return text.replace(at, from.size(), to);
}

}  // namespace

TEST_CASE("the small registration itself is fine") {
  const auto registration = read_registration(small_registration);
  INFO((registration ? "" : registration.error().text()));
  REQUIRE(registration);
}

TEST_CASE("a registration cut at any byte is refused") {
  const std::string text = small_registration;
  for (std::size_t length = 0; length < text.size(); ++length) {
    const Error error = refused(text.substr(0, length));
    INFO(length);
    CHECK(error.message.find("the text ends before the JSON does") != std::string::npos);
  }
}

TEST_CASE("any one byte of a registration may be garbage without harm") {
  const std::string text = small_registration;
  std::size_t read = 0;
  for (std::size_t at = 0; at < text.size(); ++at)
    for (const char byte : {'\0', '\xFF', '\xC0', '"', '{', ']', '0', '-', ',', '\\', 'e'}) {
      std::string damaged = text;
      damaged[at] = byte;
      const auto registration = read_registration(damaged);
      if (registration)
        ++read;
      else
        REQUIRE_FALSE(registration.error().message.empty());
    }
  CHECK(read > 0);  // a digit changed to another is a registration still
  for (std::size_t at = 0; at < text.size(); ++at) {
    std::string damaged = text;
    damaged[at] = '\xFF';
    refused(damaged);
  }
}

TEST_CASE("empty, blank, marked and foreign files are refused") {
  CHECK(refused("").message == "line 1, column 1: the text ends before the JSON does");
  refused(" \n\t");
  refused(std::string(1, '\0'));
  CHECK(refused("\xEF\xBB\xBF" + std::string(small_registration)).message ==
        "line 1, column 1: a byte order mark; JSON has none");
  refused(small_registration + std::string("x"));
  refused(small_registration + std::string(small_registration));
  CHECK(refused("[]").message == "an array where an object is wanted");
  CHECK(refused("null").message == "null where an object is wanted");
  CHECK(refused("\x89PNG\r\n").where.empty());
  CHECK(refused("{}").where == "/schema");
  CHECK(read_registration(small_registration + std::string(" \n\r\t")));
}

TEST_CASE("depth and size limits hold for registrations") {
  const std::string text = small_registration;
  ReadLimits limits;
  limits.bytes = text.size();
  CHECK(read_registration(text, limits));
  limits.bytes = text.size() - 1;
  CHECK(refused(text, limits).message == "the text has " + std::to_string(text.size()) +
                                             " bytes, more than the " +
                                             std::to_string(text.size() - 1) + " allowed");
  const auto deep = [&](std::size_t levels) {  // one level is the document's own
    return replaced(
        text, "{",
        "{\"extra\": " + std::string(levels - 1, '[') + std::string(levels - 1, ']') + ", ");
  };
  CHECK(read_registration(deep(64)));
  CHECK(refused(deep(65)).message == "arrays and objects lie deeper than 64 levels");
  refused(deep(500'000));
}

TEST_CASE("numbers that lie are refused wherever they stand") {
  for (const std::string place :
       {"\"num_blocks\": 4", "\"block_size\": 16", "\"extra_field\": 1"}) {
    const std::string name = place.substr(0, place.find(':') + 2);
    for (const char* number : {"1e400", "0e309", "18446744073709551616", "-9223372036854775809",
                               "-1e400", "1e-400", "NaN", "Infinity", "0x10", "1_000"}) {
      INFO(name << number);
      refused(replaced(small_registration, place, name + number));
    }
  }
}

TEST_CASE("an ignored field is still parsed strictly") {
  const auto with = [](const std::string& value) {
    return replaced(small_registration, "{", "{\"extra\": " + value + ", ");
  };
  CHECK(refused(with("{\"a\": 1, \"\\u0061\": 2}")).where == "/extra/a");
  CHECK(refused(with("[1, 1e999]")).where == "/extra/1");
  CHECK(refused(with("\"\xC3\x28\"")).where == "/extra");
  CHECK(read_registration(with("{\"a\": [1, null, {\"b\": 18446744073709551615}]}")));
}

TEST_CASE("duplicate keys are refused in every object of a registration") {
  const auto twice = [](std::string_view member, std::string_view again) {
    return replaced(small_registration, member, std::string(member) + ", " + std::string(again));
  };
  CHECK(refused(twice("\"num_blocks\": 4", "\"num_blocks\": 4")).where == "/num_blocks");
  CHECK(refused(twice("\"num_blocks\": 4", "\"num\\u005fblocks\": 4")).where == "/num_blocks");
  CHECK(refused(twice("\"block_size\": 16", "\"block_size\": 16")).where ==
        "/groups/0/spec/block_size");
  CHECK(refused(twice("\"extra_field\": 1", "\"extra_field\": 2")).where ==
        "/groups/0/spec/extra_field");
  CHECK(refused(twice("\"storage_offset\": 0", "\"dtype\": \"int8\"")).where ==
        "/caches/a~1b~0c/dtype");
  CHECK(refused(twice("\"s0\": {\"nbytes\": 4096, \"device\": \"cpu\"}", "\"s0\": {}")).where ==
        "/storages/s0");
}

TEST_CASE("names may hold any character, also NUL") {
  const std::string text =
      replaced(replaced(small_registration, "\"layers\": [\"a/b~c\"", "\"layers\": [\"a\\u0000b\""),
               "\"a/b~c\": {\"dtype\"", "\"a\\u0000b\": {\"dtype\"");
  const auto registration = read_registration(text);
  INFO((registration ? "" : registration.error().text()));
  REQUIRE(registration);
  CHECK(registration->data().groups[0].layers[0] == std::string("a\0b", 3));
  CHECK(registration->data().caches[0].layer == std::string("a\0b", 3));
}
