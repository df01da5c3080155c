#include "json/text_writer.hpp"

#include <cstdint>
#include <limits>

#include <catch2/catch.hpp>

#include "base/utf8.hpp"

using kvedit::TextWriter;

namespace {

template <class T>
std::string written(const T& value) {
  TextWriter out(TextWriter::Spacing::tight);
  out.value(value);
  return std::move(out).take();
}

}  // namespace

TEST_CASE("strings are written so that any JSON reader gives them back") {
  CHECK(written("a\"\\/\n\x1f\x7f é😀") == "\"a\\\"\\\\/\\u000a\\u001f\\u007f é😀\"");
  CHECK(written("\u009b\u202e\u2028\U000e0001") == R"("\u009b\u202e\u2028\udb40\udc01")");
  CHECK(written(std::string_view("\0", 1)) == "\"\\u0000\"");
  CHECK(written("a\xFF"
                "b\xE2\x82") == "\"a\uFFFDb\uFFFD\uFFFD\"");
}

TEST_CASE("numbers are written exactly, and a real never looks like an integer") {
  CHECK(written(std::numeric_limits<std::int64_t>::min()) == "-9223372036854775808");
  CHECK(written(std::numeric_limits<std::uint64_t>::max()) == "18446744073709551615");
  CHECK(written(true) == "true");
  CHECK(written(64.0) == "64.0");
  CHECK(written(-0.0) == "-0.0");
  CHECK(written(0.1) == "0.1");
  CHECK(written(1e300) == "1e+300");
  CHECK(written(std::numeric_limits<double>::infinity()) == "null");
}

TEST_CASE("lines are indented where asked") {
  TextWriter out(TextWriter::Spacing::spaced);
  out.open_object(TextWriter::Layout::lines);
  out.member("a", 1);
  out.key("b");
  out.open_array(TextWriter::Layout::lines);
  for (const int i : {1, 2}) {
    out.open_object();
    out.member("i", i);
    out.list("l", std::vector<int>{i, i});
    out.close();
  }
  out.close();
  out.key("c");
  out.open_array(TextWriter::Layout::lines);
  out.close();
  out.close();
  CHECK(
      std::move(out).take() ==
      "{\n  \"a\": 1,\n  \"b\": [\n    {\"i\": 1, \"l\": [1, 1]},\n    {\"i\": 2, \"l\": [2, 2]}\n"
      "  ],\n  \"c\": []\n}");
}

TEST_CASE("every code point is one UTF-8 sequence, every cut one is none") {
  for (std::uint32_t point = 0; point <= 0x10FFFF; point += point < 0x3000 ? 1 : 251) {
    std::string text;
    const auto add = [&](std::uint32_t byte) { text += static_cast<char>(byte); };
    if (point < 0x80) {
      add(point);
    } else if (point < 0x800) {
      add(0xC0 | point >> 6);
    } else if (point < 0x10000) {
      add(0xE0 | point >> 12);
      add(0x80 | (point >> 6 & 63));
    } else {
      add(0xF0 | point >> 18);
      add(0x80 | (point >> 12 & 63));
      add(0x80 | (point >> 6 & 63));
    }
    if (point >= 0x80) add(0x80 | (point & 63));
    const bool surrogate = point >= 0xD800 && point < 0xE000;
    if (kvedit::utf8_sequence(text) != (surrogate ? 0 : text.size())) FAIL("code point " << point);
    if (text.size() > 1 && kvedit::utf8_sequence(text.substr(0, text.size() - 1)) != 0)
      FAIL("cut code point " << point);
  }
  CHECK(kvedit::utf8_sequence("") == 0);
}
