#include <kvedit/printable.hpp>

#include <catch2/catch.hpp>

using kvedit::printable;

TEST_CASE("printable: what a terminal would obey is shown") {
  CHECK(printable("model.layers.0") == "model.layers.0");
  CHECK(printable("") == "");
  CHECK(printable("a\x1b[31mb") == "a\\x1b[31mb");
  CHECK(printable("two\nlines\r\t") == "two\\x0alines\\x0d\\x09");
  CHECK(printable(std::string_view("\0\x7f", 2)) == "\\x00\\x7f");
  CHECK(printable("\u009b2J") == "\\u009b2J");  // CSI in one letter
}

TEST_CASE("printable: so is what shows nothing or turns the direction of writing") {
  CHECK(printable("nimda\u202eadmin\u202c") == "nimda\\u202eadmin\\u202c");
  CHECK(printable("\u2066x\u2069") == "\\u2066x\\u2069");
  CHECK(printable("a\u200bb\ufeff\u00ad") == "a\\u200bb\\ufeff\\u00ad");
  CHECK(printable("\u2028\u2029\u061c") == "\\u2028\\u2029\\u061c");
  CHECK(printable("\U000e0041") == "\\U000e0041");
}

TEST_CASE("printable: letters of any script stay") {
  for (const char* letters : {"é", "層", "слой", "😀", "\u2027", "\u202f", "\u2070", "\u00a0"})
    CHECK(printable(letters) == letters);
}

TEST_CASE("printable: what is no UTF-8 is shown byte by byte, half a pair as such") {
  CHECK(printable("a\xff\xe2\x82") == "a\\xff\\xe2\\x82");
  CHECK(printable("\xed\xa0\x80x\xed\xbf\xbf") == "\\ud800x\\udfff");
  CHECK(printable("\xed\xa0") == "\\xed\\xa0");
  CHECK(printable("\xc0\x80") == "\\xc0\\x80");
}

TEST_CASE("printable: a second time changes nothing") {
  const std::string once = printable("a\\b\x1b\u202e\xff");
  CHECK(once == "a\\b\\x1b\\u202e\\xff");
  CHECK(printable(once) == once);
}
