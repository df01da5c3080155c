#include <functional>
#include <string>

#include <catch2/catch.hpp>

#include "given.hpp"

namespace kvedit::golden {
namespace {

/// Replaces the first `what`; the text has to have one.
std::string with(std::string text, const std::string& what, const std::string& other) {
  const std::size_t at = text.find(what);
  REQUIRE(at != std::string::npos);
  return text.replace(at, what.size(), other);
}

std::string small() {
  return R"({"schema":"kvedit.registration/1","layout":"NHD","num_blocks":4,
"groups":[{"layers":["a"],"spec":{"type":"FullAttentionSpec","bases":[],"block_size":2,"page_size_bytes":32}}],
"storages":{"s0":{"nbytes":128,"device":"cpu"}},
"caches":{"a":{"dtype":"bfloat16","shape":[4,2,8],"stride":[16,8,1],"storage_offset":0,"storage":"s0"}}})";
}

void check_unreadable(const std::string& text, const std::string& pointer) {
  INFO(text.substr(0, 600));
  const Expected<Registration> read = read_registration(text);
  REQUIRE_FALSE(read.has_value());
  CHECK_FALSE(read.error().message.empty());
  CHECK(read.error().message.find('\n') == std::string::npos);
  if (!pointer.empty()) CHECK(read.error().where == pointer);
}

}  // namespace

TEST_CASE("the small registration these tests break is right") {
  const Expected<Registration> read = read_registration(small());
  REQUIRE(read.has_value());
  CHECK(standard_host().edit(*read).ok());
}

TEST_CASE("text that is no registration is an error with a pointer") {
  const auto broken = [](const char* what, const char* other) {
    return with(small(), what, other);
  };
  check_unreadable("", "");
  check_unreadable("[]", "");
  check_unreadable("{}", "/schema");
  check_unreadable(broken("registration/1", "registration/2"), "/schema");
  check_unreadable(broken("\"NHD\"", "\"NDH\""), "/layout");
  check_unreadable(broken("\"num_blocks\":4", "\"num_blocks\":4.0"), "/num_blocks");
  check_unreadable(broken("\"num_blocks\":4", "\"num_blocks\":4e0"), "/num_blocks");
  check_unreadable(broken("\"num_blocks\":4", "\"num_blocks\":\"4\""), "/num_blocks");
  check_unreadable(broken("\"num_blocks\":4", "\"num_blocks\":9223372036854775808"), "/num_blocks");
  check_unreadable(broken("\"num_blocks\":4", "\"num_blocks\":1e400"), "");
  check_unreadable(broken("\"num_blocks\":4", "\"num_blocks\":NaN"), "");
  check_unreadable(broken("\"num_blocks\":4", "\"num_blocks\":true"), "/num_blocks");
  check_unreadable(broken("\"num_blocks\":4,", ""), "/num_blocks");
  check_unreadable(broken("\"num_blocks\":4", "\"num_blocks\":4,\"num_blocks\":4"), "");
  check_unreadable(broken("\"shape\":[4,2,8]", "\"shape\":[4,2.5,8]"), "/caches/a/shape/1");
  check_unreadable(broken("\"shape\":[4,2,8]", "\"shape\":4"), "/caches/a/shape");
  check_unreadable(broken("\"bfloat16\"", "\"bfloat17\""), "/caches/a/dtype");
  check_unreadable(broken("\"nbytes\":128", "\"nbytes\":128.5"), "/storages/s0/nbytes");
  check_unreadable(broken("\"block_size\":2,", ""), "/groups/0/spec/block_size");
  check_unreadable(broken("\"page_size_bytes\":32", "\"page_size_bytes\":\"32\""),
                   "/groups/0/spec/page_size_bytes");
  check_unreadable(broken("\"NHD\"", "\"N\xff\""), "");
  check_unreadable(broken("\"NHD\"", "\"N\xed\xa0\x80\""), "");
  check_unreadable(small() + "{}", "");
}

TEST_CASE("text cut anywhere is an error, and so is any text one byte short") {
  const std::string text = small();
  for (std::size_t length = 0; length < text.size(); ++length)
    CHECK_FALSE(read_registration(text.substr(0, length)).has_value());
  const std::string given = registration_text("qwen3.5-0.8b-flashinfer-nhd");
  const std::size_t end = given.find_last_of('}');
  for (std::size_t length = 0; length < end; length += 997)
    CHECK_FALSE(read_registration(given.substr(0, length)).has_value());
}

TEST_CASE("depth and size are limited") {
  const std::string deep = std::string(100'000, '[');
  check_unreadable(deep, "");
  const std::string nested = std::string(65, '[') + std::string(65, ']');
  check_unreadable(with(small(), "\"block_size\":2", "\"x\":" + nested + ",\"block_size\":2"), "");
  const std::string allowed = std::string(16, '[') + std::string(16, ']');
  CHECK(
      read_registration(with(small(), "\"block_size\":2", "\"x\":" + allowed + ",\"block_size\":2"))
          .has_value());
  ReadLimits limits;
  limits.bytes = 100;
  CHECK_FALSE(read_registration(small(), limits).has_value());
}

TEST_CASE("what is well formed but means nothing is read, and refused with a problem") {
  const auto problems = [](const char* what, const char* other) {
    const Expected<Registration> read = read_registration(with(small(), what, other));
    REQUIRE(read.has_value());
    const Result result = standard_host().edit(*read);
    REQUIRE_FALSE(result.ok());
    return error_codes(result);
  };
  using Codes = std::set<std::string>;
  CHECK(problems("[16,8,1]", "[-16,8,1]") == Codes{"bad-geometry"});
  CHECK(problems("[16,8,1]", "[16,0,1]") == Codes{"bad-geometry"});
  CHECK(problems("\"storage\":\"s0\"", "\"storage\":\"s9\"") == Codes{"bad-geometry"});
  CHECK(problems("\"nbytes\":128", "\"nbytes\":127") == Codes{"bad-geometry"});
  CHECK(problems("\"nbytes\":128", "\"nbytes\":-1") == Codes{"bad-geometry"});
  CHECK(problems("\"block_size\":2", "\"block_size\":0") == Codes{"bad-geometry"});
  CHECK(problems("\"block_size\":2", "\"block_size\":-9223372036854775808") ==
        Codes{"bad-geometry"});
  CHECK(problems("[4,2,8]", "[9223372036854775807,9223372036854775807,8]") ==
        Codes{"bad-geometry"});
  CHECK(problems("\"storage_offset\":0", "\"storage_offset\":9223372036854775807") ==
        Codes{"bad-geometry"});
  CHECK(problems("\"num_blocks\":4", "\"num_blocks\":5") == Codes{"block-count"});
  const Codes none = problems("\"num_blocks\":4", "\"num_blocks\":0");
  CHECK((none == Codes{"block-count"} || none == Codes{"bad-geometry"}));
}

TEST_CASE("a dtype nobody knows is read when its size is given, and is checked like any other") {
  const std::string named = with(small(), "\"bfloat16\"", "\"float6_of_tomorrow\",\"itemsize\":2");
  const Expected<Registration> read = read_registration(named);
  REQUIRE(read.has_value());
  CHECK(standard_host().edit(*read).ok());
  const std::string wider = with(small(), "\"bfloat16\"", "\"float6_of_tomorrow\",\"itemsize\":4");
  const Expected<Registration> wide = read_registration(wider);
  REQUIRE(wide.has_value());
  const std::set<std::string> codes = error_codes(standard_host().edit(*wide));
  REQUIRE(codes.size() == 1);  // it leaves its storage, and its entries are larger than a page
  CHECK((codes.contains("bad-geometry") || codes.contains("block-count")));
}

}  // namespace kvedit::golden
