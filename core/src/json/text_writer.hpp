#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace kvedit {

/// Writes JSON text piece by piece; commas, indentation and escapes are its business. What a
/// terminal would obey is escaped too.
class TextWriter {
 public:
  enum class Spacing : std::uint32_t { tight, spaced };
  enum class Layout : std::uint32_t { line, lines };  // of an array or object: its items' lines

  explicit TextWriter(Spacing spacing) : spacing_(spacing) {}

  void open_object(Layout layout = Layout::line) { open('{', '}', layout); }
  void open_array(Layout layout = Layout::line) { open('[', ']', layout); }
  void close();
  void key(std::string_view name);

  void null() { raw("null"); }
  void value(std::string_view text);
  void value(double number);  // not finite: null
  template <std::integral T>
  void value(T number) {
    if constexpr (std::same_as<T, bool>)
      raw(number ? "true" : "false");
    else
      raw(std::to_string(number));
  }
  void raw(std::string_view json);

  template <class T>
  void member(std::string_view name, const T& content) {
    key(name);
    value(content);
  }
  void member_or_null(std::string_view name, std::string_view text);
  void member_or_null(std::string_view name, std::optional<std::int64_t> number);
  /// An array of integers or strings on one line.
  template <class Range>
  void list(std::string_view name, const Range& items) {
    key(name);
    open_array();
    for (const auto& item : items) value(item);
    close();
  }

  std::string take() && { return std::move(text_); }

 private:
  struct Frame {
    char end;
    Layout layout;
    bool empty = true;
  };

  void open(char begin, char end, Layout layout);
  void begin_item();
  void begin_line();
  void append_quoted(std::string_view text);
  void append_escaped(char32_t code);

  Spacing spacing_;
  std::string text_;
  std::vector<Frame> frames_;
  bool after_key_ = false;
};

}  // namespace kvedit
