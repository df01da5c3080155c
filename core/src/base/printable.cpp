#include <kvedit/printable.hpp>

#include "base/letters.hpp"

namespace kvedit {
namespace {

void append_escaped(std::string& to, const Letter& letter) {
  const bool one_byte = letter.size == 1;
  const bool wide = letter.code > 0xffff;
  to += one_byte ? "\\x" : wide ? "\\U" : "\\u";
  append_hex(to, letter.code, one_byte ? 2 : wide ? 8 : 4);
}

}  // namespace

std::string printable(std::string_view text) {
  std::string shown;
  shown.reserve(text.size());
  while (!text.empty()) {
    const Letter letter = letter_of(text);
    if (letter.valid && !unseen(letter.code))
      shown += text.substr(0, letter.size);
    else
      append_escaped(shown, letter);
    text.remove_prefix(letter.size);
  }
  return shown;
}

}  // namespace kvedit
