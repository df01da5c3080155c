#include "json/text_writer.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <utility>

#include "base/letters.hpp"

namespace kvedit {

void TextWriter::open(char begin, char end, Layout layout) {
  begin_item();
  text_ += begin;
  frames_.push_back({end, layout});
}

void TextWriter::close() {
  const Frame frame = frames_.back();
  frames_.pop_back();
  if (frame.layout == Layout::lines && !frame.empty) begin_line();
  text_ += frame.end;
}

void TextWriter::key(std::string_view name) {
  begin_item();
  append_quoted(name);
  text_ += spacing_ == Spacing::tight ? ":" : ": ";
  after_key_ = true;
}

void TextWriter::value(std::string_view text) {
  begin_item();
  append_quoted(text);
}

void TextWriter::value(double number) {
  if (!std::isfinite(number)) return null();
  std::array<char, 40> digits;
  const auto [end, error] = std::to_chars(digits.data(), digits.data() + digits.size(), number);
  std::string text(digits.data(), error == std::errc() ? end : digits.data());
  // A reader must not take it for an integer.
  if (text.find_first_of(".e") == std::string::npos) text += ".0";
  raw(text);
}

void TextWriter::raw(std::string_view json) {
  begin_item();
  text_ += json;
}

void TextWriter::member_or_null(std::string_view name, std::string_view text) {
  key(name);
  text.empty() ? null() : value(text);
}

void TextWriter::member_or_null(std::string_view name, std::optional<std::int64_t> number) {
  key(name);
  number ? value(*number) : null();
}

void TextWriter::begin_item() {
  if (after_key_) {
    after_key_ = false;
    return;
  }
  if (frames_.empty()) return;
  Frame& frame = frames_.back();
  const bool first = std::exchange(frame.empty, false);
  if (!first) text_ += ',';
  if (frame.layout == Layout::lines)
    begin_line();
  else if (!first && spacing_ == Spacing::spaced)
    text_ += ' ';
}

void TextWriter::begin_line() {
  const auto levels = std::count_if(frames_.begin(), frames_.end(), [](const Frame& frame) {
    return frame.layout == Layout::lines;
  });
  text_ += '\n';
  text_.append(2 * static_cast<std::size_t>(levels), ' ');
}

void TextWriter::append_quoted(std::string_view text) {
  text_ += '"';
  while (!text.empty()) {
    const Letter letter = letter_of(text);
    if (letter.code == '"' || letter.code == '\\') text_ += '\\';
    if (!letter.valid)
      text_ += "\xEF\xBF\xBD";  // U+FFFD: what we write is JSON whatever a pack gave us
    else if (unseen(letter.code))
      append_escaped(letter.code);
    else
      text_ += text.substr(0, letter.size);
    text.remove_prefix(letter.valid ? letter.size : 1);
  }
  text_ += '"';
}

void TextWriter::append_escaped(char32_t code) {
  if (code > 0xffff) {
    code -= 0x10000;
    append_escaped(0xd800 | code >> 10);
    return append_escaped(0xdc00 | (code & 0x3ff));
  }
  text_ += "\\u";
  append_hex(text_, code, 4);
}

}  // namespace kvedit
