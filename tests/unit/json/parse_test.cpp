#include "json/parse.hpp"

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <random>
#include <string>

#include <catch2/catch.hpp>

#include "json/text_writer.hpp"

using kvedit::Document;
using kvedit::Error;
using kvedit::parse_json;
using kvedit::ReadLimits;
using Type = Document::Type;

namespace {

Document parse(std::string_view text) {
  auto document = parse_json(text, {});
  INFO(text << " → " << (document ? "" : document.error().text()));
  REQUIRE(document);
  return std::move(*document);
}

Error refused(std::string_view text, const ReadLimits& limits = {}) {
  const auto document = parse_json(text, limits);
  INFO(text);
  REQUIRE_FALSE(document);
  return document.error();
}

}  // namespace

TEST_CASE("a JSON document keeps values, order and nesting") {
  const Document document =
      parse(R"( {"b": [1, [], {"x": null}], "a": "é\n\u0000", "": true, "r": 2.5} )");
  const auto root = document.root();
  REQUIRE(root.type() == Type::object);
  CHECK(root.size() == 4);
  CHECK(root.find("b")->size() == 3);
  CHECK(root.find("a")->text() == std::string_view("é\n\0", 4));
  CHECK(root.find("")->boolean());
  CHECK(root.find("r")->real() == 2.5);
  CHECK_FALSE(root.find("c"));
  CHECK(root.json() == R"({"b":[1,[],{"x":null}],"a":"é\u000a\u0000","":true,"r":2.5})");
}

TEST_CASE("integers are kept to the last bit") {
  const auto integer = [](std::string_view text) {
    const Document document = parse(text);
    REQUIRE(document.root().type() == Type::integer);
    return document.root().integer();
  };
  CHECK(integer("0") == 0);
  CHECK(integer("-0") == 0);
  CHECK(integer("9223372036854775807") == std::numeric_limits<std::int64_t>::max());
  CHECK(integer("-9223372036854775808") == std::numeric_limits<std::int64_t>::min());
}

TEST_CASE("integers of 64 unsigned bits are kept apart from signed ones") {
  const Document least = parse("9223372036854775808");
  CHECK(least.root().type() == Type::large);
  CHECK(least.root().large() == std::uint64_t{1} << 63);
  const Document most = parse("18446744073709551615");
  CHECK(most.root().type() == Type::large);
  CHECK(most.root().json() == "18446744073709551615");
}

TEST_CASE("integers beyond 64 bits are refused") {
  for (const std::string number :
       {"18446744073709551616", "-9223372036854775809", "123456789012345678901234567890"}) {
    const Error error = refused("{\"a\": [0, " + number + "]}");
    CHECK(error.where == "/a/1");
    CHECK(error.message == "the integer \"" + number + "\" does not fit in 64 bits");
  }
}

TEST_CASE("numbers a double does not hold are refused") {
  for (const std::string number : {"1e400", "-1e400", "0e309", "-0e400", "1e-400", "0.1e-330"}) {
    const Error error = refused("{\"a\": " + number + "}");
    CHECK(error.where == "/a");
    CHECK(error.message == "the number \"" + number + "\" is outside what a double holds");
  }
}

TEST_CASE("numbers with a fraction are the nearest double") {
  const auto real = [](std::string_view text) {
    const Document document = parse(text);
    REQUIRE(document.root().type() == Type::real);
    return document.root().real();
  };
  CHECK(real("64.0") == 64.0);
  CHECK(real("1e3") == 1000.0);
  CHECK(real("0e5") == 0.0);
  CHECK(real("0.1") == 0.1);
  CHECK(real("1.7976931348623157e308") == std::numeric_limits<double>::max());
  CHECK(real("4.9406564584124654e-324") == std::numeric_limits<double>::denorm_min());
  CHECK(real("2.2250738585072014e-308") == std::numeric_limits<double>::min());
}

TEST_CASE("every double comes back from its text") {
  const std::uint64_t seed = 20240611;
  std::mt19937_64 random(seed);
  for (int i = 0; i < 20000; ++i) {
    const auto number = std::bit_cast<double>(random());
    if (!std::isfinite(number)) continue;
    kvedit::TextWriter out(kvedit::TextWriter::Spacing::tight);
    out.value(number);
    const std::string text = std::move(out).take();
    INFO(text << ", seed " << seed);
    const auto document = parse_json(text, {});
    if (!document || document->root().real() != number) FAIL("lost a bit");
  }
}

TEST_CASE("duplicate keys are refused, also spelled differently") {
  CHECK(refused(R"({"a": 1, "b": 2, "a": 3})").where == "/a");
  CHECK(refused(R"({"a": 1, "\u0061": 1})").where == "/a");
  CHECK(refused(R"({"x": [0, {"y": {"q/r": 1, "s": 1, "q\/r": 1}}]})").where == "/x/1/y/q~1r");
  CHECK(refused(R"({"": 1, "": 1})").where == "/");
  CHECK(refused(R"({"a": 1, "a": 3})").message ==
        R"(the key "a" is there twice in one object; remove one)");
  parse(R"({"a": {"a": {"a": 1}}, "b": {"a": 2}, "A": 3})");
}

TEST_CASE("limits of size and depth are exact") {
  ReadLimits limits;
  limits.bytes = 5;
  CHECK(parse_json("[1,2]", limits));
  CHECK(refused("[1,23]", limits).message == "the text has 6 bytes, more than the 5 allowed");
  limits = {};
  limits.depth = 3;
  CHECK(parse_json("[[[1]]]", limits));
  CHECK(parse_json(R"({"a":{"b":[]}})", limits));
  const Error error = refused(R"({"a":[0,{"b":[]}]})", limits);
  CHECK(error.where == "/a/1/b");
  CHECK(error.message == "arrays and objects lie deeper than 3 levels");
  limits.depth = 0;
  CHECK(parse_json("1", limits));
  refused("[]", limits);
}

TEST_CASE("64 levels are read, 65 are not, a million do no harm") {
  const auto nested = [](std::size_t levels) {
    return std::string(levels, '[') + std::string(levels, ']');
  };
  CHECK(parse_json(nested(64), {}));
  refused(nested(65));
  refused(nested(1'000'000));
  refused(std::string(1'000'000, '['));
  ReadLimits limits;
  limits.depth = std::numeric_limits<std::size_t>::max();
  refused(nested(1'000'000), limits);
}

TEST_CASE("a syntax error tells line, column and the pointer reached") {
  const Error at = refused("{\"a\": 1,\n \"b~/\": [true,\n\n  é]}");
  CHECK(at.where == "/b~0~1/1");
  CHECK(at.message == "line 4, column 3: syntax error, at \"é\"");
  const Error end = refused("{\"é\": [1, [2, ");
  CHECK(end.where == "/é/1/1");
  CHECK(end.message == "line 1, column 15: the text ends before the JSON does");
  CHECK(refused("[1] x").message == "line 1, column 5: something follows the JSON, at \"x\"");
  CHECK(refused("[01]").message == "line 1, column 3: syntax error, at \"1\"");
  CHECK(refused("[\"\x01\"]").message == "line 1, column 3: syntax error, at \"\\u0001\"");
  CHECK(refused("").message == "line 1, column 1: the text ends before the JSON does");
  CHECK(refused("\xEF\xBB\xBF{}").message == "line 1, column 1: a byte order mark; JSON has none");
}

TEST_CASE("what is no JSON is refused") {
  for (const char* text :
       {"nul",         "[1,]",        "{\"a\":1,}",         "{a:1}",      "{'a':1}", "[1 2]",
        "{\"a\" 1}",   "[NaN]",       "[Infinity]",         "[+1]",       "[.5]",    "[1.]",
        "[1e]",        "[0x1]",       "// c\n[]",           "[/* c */]",  "[-]",     "\"\\x\"",
        "\"\\ud800\"", "\"\\udc00\"", "\"\\ud800\\u0041\"", "[\"a\nb\"]", "]",       "{]"}) {
    INFO(text);
    refused(text);
  }
}

TEST_CASE("invalid UTF-8 is refused in values, keys and far inside a string") {
  const std::string bad[] = {"\x80",
                             "\xC0\x80",
                             "\xC1\xBF",
                             "\xE0\x80\x80",
                             "\xED\xA0\x80",
                             "\xF0\x80\x80\x80",
                             "\xF4\x90\x80\x80",
                             "\xF8\x88\x80\x80\x80",
                             "\xFF",
                             "\xE2\x82",
                             "\xC3"};
  for (const std::string& bytes : bad) {
    for (const std::size_t before : {0U, 1U, 15U, 16U, 4095U, 4096U, 70000U}) {
      const std::string ahead(before, 'x');
      const Error value = refused("{\"k\": [\"" + ahead + bytes + "\"]}");
      CHECK(value.where == "/k/0");
      CHECK(value.message == "line 1, column " + std::to_string(9 + before) + ": invalid UTF-8");
      CHECK(refused("{\"" + ahead + bytes + "\": 1}").where.empty());
      refused("[\"\\n" + ahead + bytes + "z\"]");
    }
  }
  parse("[\"\xC2\x80 \xE0\xA0\x80 \xED\x9F\xBF \xEE\x80\x80 \xF0\x90\x80\x80 \xF4\x8F\xBF\xBF\"]");
}

TEST_CASE("long strings and escapes come through whole") {
  std::string plain, escaped;
  for (int i = 0; i < 20000; ++i) {
    plain += "a/é\t";
    escaped += i % 2 == 0 ? "\\u0061\\/\\u00e9\\t" : "a/é\\t";
  }
  const Document document = parse("{\"" + escaped + "\": \"" + escaped + "\"}");
  REQUIRE(document.root().find(plain));
  CHECK(document.root().find(plain)->text() == plain);
  CHECK(parse("\"\\ud83d\\ude00\"").root().text() == "😀");
}

TEST_CASE("the pointer of an item leads back to it") {
  const Document document = parse(R"({"a": [[1, 2], {"x/y": [3], "~": 4}], "b": {"": 5}})");
  const auto a = *document.root().find("a");
  std::vector<std::string> pointers;
  a.each_element([&](const kvedit::Item& item) {
    pointers.push_back(item.pointer());
    if (item.type() == Type::object)
      item.each_member([&](std::string_view, const kvedit::Item& member) {
        pointers.push_back(member.pointer());
        return true;
      });
    return true;
  });
  CHECK(document.root().pointer().empty());
  CHECK(pointers == std::vector<std::string>{"/a/0", "/a/1", "/a/1/x~1y", "/a/1/~0"});
  CHECK(document.root().find("b")->find("")->pointer() == "/b/");
}

TEST_CASE("excerpts are short and valid") {
  CHECK(kvedit::excerpt("a\"b") == "\"a\\\"b\"");
  CHECK(kvedit::excerpt(std::string(48, 'x')) == "\"" + std::string(48, 'x') + "\"");
  CHECK(kvedit::excerpt(std::string(47, 'x') + "éé") == "\"" + std::string(47, 'x') + "é…\"");
}

TEST_CASE("half a surrogate pair is named, wherever parsing stops") {
  for (const char* text : {R"("\ud800")", R"("\ud800x")", R"("a\udc00")", R"("\ud800\u0041")",
                           R"("\uDBFF\n")", R"({"\udfff": 1})", R"("\ud800\ud800")"}) {
    const auto document = parse_json(text, {});
    INFO(text);
    REQUIRE_FALSE(document);
    CHECK(document.error().message.find("half a surrogate pair, \\u") != std::string::npos);
    CHECK(document.error().message.find("write both halves") != std::string::npos);
  }
  for (const char* text :
       {R"("\ud83d\ude00" x)", R"("\ud7ff" x)", R"(["\ud83d\ude00", +1])", R"("\ud83d\ude00\x")"}) {
    const auto document = parse_json(text, {});
    REQUIRE_FALSE(document);
    INFO(document.error().message);
    CHECK(document.error().message.find("surrogate") == std::string::npos);
  }
}
