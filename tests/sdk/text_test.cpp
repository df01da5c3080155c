#include <catch2/catch.hpp>
#include <cstdint>
#include <kvedit/rule/text.hpp>
#include <limits>
#include <string>

using namespace kvedit::rule;

TEST_CASE("reasons show integers of every width and sign") {
  CHECK(reason("{}", 0).view() == "0");
  CHECK(reason("{} {}", -1, 10U).view() == "-1 10");
  CHECK(reason("{}", std::numeric_limits<std::int64_t>::min()).view() == "-9223372036854775808");
  CHECK(reason("{}", std::numeric_limits<std::int64_t>::max()).view() == "9223372036854775807");
  CHECK(reason("{}", std::numeric_limits<std::uint64_t>::max()).view() == "18446744073709551615");
  CHECK(reason("{}", std::numeric_limits<std::int32_t>::min()).view() == "-2147483648");
  CHECK(reason("{}", std::int16_t{-300}).view() == "-300");
}

TEST_CASE("reasons show texts, kinds, roles and truths") {
  const std::string owned = "owned";
  CHECK(reason("<{}>", "").view() == "<>");
  CHECK(reason("{}{}", "a", std::string_view(owned)).view() == "aowned");
  CHECK(reason("kind is {}, not mamba", Kind::full_attention).view() ==
        "kind is full_attention, not mamba");
  CHECK(reason("{}", static_cast<Kind>(77)).view() == "of a newer host");
  CHECK(reason("{}", Role::kernel_page).view() == "kernel_page");
  CHECK(reason("{} {}", true, false).view() == "true false");
  CHECK(reason("{}", reason("in {}", 1)).view() == "in 1");
  const char* const nothing = nullptr;
  CHECK(reason("{}", nothing).view() == "(null)");
}

TEST_CASE("braces in an argument are not places") {
  CHECK(reason("{} and {}", "{}", 2).view() == "{} and 2");
  CHECK(reason("no places").view() == "no places");
  CHECK(reason("{ } }{ {}", 1).view() == "{ } }{ 1");
}

TEST_CASE("a text that does not fit is cut at a character and says so") {
  Text<10> text;
  text.append("abcdefg");
  CHECK(text.view() == "abcdefg");
  CHECK_FALSE(text.cut());
  text.append("h");
  CHECK(text.view() == "abcdefg\xE2\x80\xA6");
  CHECK(text.cut());
  text.append("more");
  CHECK(text.view().size() == 10);
  CHECK(std::string(text.c_str()) == std::string(text.view()));

  Text<10> wide;
  wide.append("abcde\xC3\xA4\xC3\xA4");  // the second ä begins at byte 7, the last that fits is 6
  CHECK(wide.view() == "abcde\xC3\xA4\xE2\x80\xA6");
  Text<9> split;
  split.append("abcde\xC3\xA4x");  // room for 6: ä would be cut in half
  CHECK(split.view() == "abcde\xE2\x80\xA6");
}

TEST_CASE("copies of a text are texts of their own") {
  Reason first = reason("{} bytes", 5);
  Reason second = first;
  first.append(" more");
  CHECK(second.view() == "5 bytes");
  second = first;
  CHECK(second.view() == "5 bytes more");
  second = *&second;
  CHECK(second.view() == "5 bytes more");
}
