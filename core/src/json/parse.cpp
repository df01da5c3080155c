#include "json/parse.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>

#include <boost/json/basic_parser_impl.hpp>

#include "base/utf8.hpp"
#include "json/text_writer.hpp"

namespace kvedit {
namespace {

using boost::json::error_code;
using Text = boost::json::string_view;

// Nodes count in 32 bits; Boost's parser and our writer call themselves for each level.
constexpr std::size_t most_bytes = std::numeric_limits<std::uint32_t>::max();
constexpr std::size_t most_depth = 1000;

std::string_view view(Text text) { return {text.data(), text.size()}; }

/// Boost's parser calls it for each token.
class DocumentBuilder {
 public:
  static constexpr std::size_t max_object_size = std::numeric_limits<std::size_t>::max();
  static constexpr std::size_t max_array_size = max_object_size;
  static constexpr std::size_t max_key_size = max_object_size;
  static constexpr std::size_t max_string_size = max_object_size;

  explicit DocumentBuilder(std::size_t depth) : depth_(depth) {}

  bool on_document_begin(error_code&) { return true; }
  bool on_document_end(error_code&) { return true; }
  bool on_object_begin(error_code& code) { return open(Document::Type::object, code); }
  bool on_array_begin(error_code& code) { return open(Document::Type::array, code); }
  bool on_object_end(std::size_t, error_code& code) { return check_keys(code) && close(); }
  bool on_array_end(std::size_t, error_code&) { return close(); }
  bool on_key_part(Text part, std::size_t, error_code&) { return append(part); }
  bool on_string_part(Text part, std::size_t, error_code&) { return append(part); }
  bool on_number_part(Text, error_code&) { return true; }
  bool on_comment_part(Text, error_code&) { return true; }
  bool on_comment(Text, error_code&) { return true; }

  bool on_key(Text last, std::size_t size, error_code&) {
    frames_.back().key = static_cast<std::uint32_t>(document_.nodes.size());
    add_text(last, size);
    frames_.back().in_member = true;
    return true;
  }
  bool on_string(Text last, std::size_t size, error_code&) {
    add_text(last, size);
    return complete();
  }
  bool on_bool(bool value, error_code&) { return add(Document::Type::boolean, value ? 1 : 0); }
  bool on_null(error_code&) { return add(Document::Type::null, 0); }
  bool on_int64(std::int64_t value, Text, error_code&) {
    return add(Document::Type::integer, std::bit_cast<std::uint64_t>(value));
  }
  bool on_uint64(std::uint64_t value, Text, error_code&) {
    const bool fits = value <= std::uint64_t{std::numeric_limits<std::int64_t>::max()};
    return add(fits ? Document::Type::integer : Document::Type::large, value);
  }
  bool on_double(double value, Text literal, error_code& code);

  /// The pointer to the value that is being read or would come next.
  std::string pointer() const;
  const std::optional<Error>& failure() const { return failure_; }
  Document take() { return std::move(document_); }

 private:
  struct Frame {
    std::uint32_t node;
    std::uint32_t key = 0;
    std::uint64_t items = 0;
    bool in_member = false;
  };

  bool open(Document::Type type, error_code& code);
  bool close();
  bool check_keys(error_code& code);
  bool complete();
  bool append(Text part) {
    document_.texts.append(part.data(), part.size());
    return true;
  }
  void add_text(Text last, std::size_t size) {
    append(last);
    document_.nodes.push_back(
        {Document::Type::text, static_cast<std::uint32_t>(size), document_.texts.size() - size});
  }
  bool add(Document::Type type, std::uint64_t content) {
    document_.nodes.push_back({type, 0, content});
    return complete();
  }
  bool fail(std::string where, std::string message, error_code& code) {
    failure_ = Error{std::move(where), std::move(message)};
    code = boost::json::error::syntax;  // ends the parse
    return false;
  }

  std::size_t depth_;
  Document document_;
  std::vector<Frame> frames_;
  std::vector<std::string_view> keys_;
  std::optional<Error> failure_;
};

bool DocumentBuilder::open(Document::Type type, error_code& code) {
  if (frames_.size() == depth_)
    return fail(pointer(),
                "arrays and objects lie deeper than " + std::to_string(depth_) + " levels", code);
  frames_.push_back({static_cast<std::uint32_t>(document_.nodes.size())});
  document_.nodes.push_back({type, 0, 0});
  return true;
}

bool DocumentBuilder::close() {
  Document::Node& node = document_.nodes[frames_.back().node];
  node.extent = static_cast<std::uint32_t>(document_.nodes.size());
  node.content = frames_.back().items;
  frames_.pop_back();
  return complete();
}

bool DocumentBuilder::complete() {
  if (frames_.empty()) return true;
  ++frames_.back().items;
  frames_.back().in_member = false;
  return true;
}

bool DocumentBuilder::check_keys(error_code& code) {
  keys_.clear();
  const auto end = static_cast<std::uint32_t>(document_.nodes.size());
  for (std::uint32_t i = frames_.back().node + 1; i < end; i = document_.after(i + 1))
    keys_.push_back(document_.text_of(document_.nodes[i]));
  std::sort(keys_.begin(), keys_.end());
  const auto twice = std::adjacent_find(keys_.begin(), keys_.end());
  if (twice == keys_.end()) return true;
  return fail(pointer() + pointer_token(*twice),
              "the key " + excerpt(*twice) + " is there twice in one object; remove one", code);
}

bool DocumentBuilder::on_double(double value, Text literal, error_code& code) {
  const std::string_view text = view(literal);
  if (text.find_first_of(".eE") == std::string_view::npos)
    return fail(pointer(), "the integer " + excerpt(text) + " does not fit in 64 bits", code);
  // Boost 1.81 rounds the last digit wrongly and has no error for numbers out of range.
  double exact = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), exact);
  const std::string_view digits = text.substr(0, text.find_first_of("eE"));
  const bool zero = digits.find_first_of("123456789") == std::string_view::npos;
  if (error != std::errc() || !std::isfinite(value) || !std::isfinite(exact) ||
      (exact == 0 && !zero))
    return fail(pointer(), "the number " + excerpt(text) + " is outside what a double holds", code);
  return add(Document::Type::real, std::bit_cast<std::uint64_t>(exact));
}

std::string DocumentBuilder::pointer() const {
  std::string pointer;
  for (const Frame& frame : frames_) {
    if (document_.nodes[frame.node].type == Document::Type::array)
      pointer += "/" + std::to_string(frame.items);
    else if (frame.in_member)
      pointer += pointer_token(document_.text_of(document_.nodes[frame.key]));
  }
  return pointer;
}

std::string line_and_column(std::string_view before) {
  const auto lines = std::count(before.begin(), before.end(), '\n');
  const std::size_t newline = before.rfind('\n');
  const std::string_view line =
      newline == std::string_view::npos ? before : before.substr(newline + 1);
  const auto characters = std::count_if(line.begin(), line.end(), [](char c) {
    return (static_cast<unsigned char>(c) & 0xC0) != 0x80;
  });
  return "line " + std::to_string(lines + 1) + ", column " + std::to_string(characters + 1);
}

enum class Half { none, high, low };

constexpr std::size_t escape_length = 6;  // \uD800

Half half_at(std::string_view text, std::size_t at) {
  const std::string_view escape = text.substr(std::min(at, text.size()), escape_length);
  if (escape.size() < escape_length || !escape.starts_with("\\u")) return Half::none;
  if (escape[2] != 'd' && escape[2] != 'D') return Half::none;
  if (std::string_view("89abAB").find(escape[3]) != std::string_view::npos) return Half::high;
  return std::string_view("cdefCDEF").find(escape[3]) != std::string_view::npos ? Half::low
                                                                                : Half::none;
}

/// The half of a surrogate pair, in the string at hand, that made parsing stop.
std::string_view lone_half(std::string_view text, std::size_t stopped) {
  for (std::size_t back = 0; back <= std::min(stopped, 2 * escape_length); ++back) {
    const std::size_t at = stopped - back;
    if (back > 0 && text[at] == '"') return {};
    const Half half = half_at(text, at);
    const bool paired =
        half == Half::high ? half_at(text, at + escape_length) == Half::low
                           : at >= escape_length && half_at(text, at - escape_length) == Half::high;
    if (half != Half::none && !paired) return text.substr(at, escape_length);
  }
  return {};
}

std::string what_is_wrong(std::string_view text, std::size_t at, const error_code& code) {
  using Mistake = boost::json::error;
  const std::string_view rest = text.substr(at);
  const bool of_pair = code == Mistake::syntax || code == Mistake::expected_utf16_escape ||
                       code == Mistake::illegal_leading_surrogate ||
                       code == Mistake::illegal_trailing_surrogate;
  if (const std::string_view half = lone_half(text, at); of_pair && !half.empty())
    return "half a surrogate pair, " + std::string(half) +
           ", which is no letter; write both halves or take it out";
  if (rest.empty()) return "the text ends before the JSON does";
  if (rest.starts_with("\xEF\xBB\xBF")) return "a byte order mark; JSON has none";
  const std::size_t length = utf8_sequence(rest);
  if (length == 0) return "invalid UTF-8";
  const std::string found = ", at " + excerpt(rest.substr(0, length));
  return (code ? code.message() : "something follows the JSON") + found;
}

Error syntax_error(std::string_view text, std::size_t at, std::string where,
                   const error_code& code) {
  return {std::move(where),
          line_and_column(text.substr(0, at)) + ": " + what_is_wrong(text, at, code)};
}

Expected<Document> parse_within_limits(std::string_view text, std::size_t depth) {
  boost::json::parse_options options;
  options.max_depth = depth + 1;  // ours is met first
  boost::json::basic_parser<DocumentBuilder> parser(options, depth);
  error_code code;
  const std::size_t used = parser.write_some(false, text.data(), text.size(), code);
  DocumentBuilder& builder = parser.handler();
  if (builder.failure()) return *builder.failure();
  if (code || used < text.size()) return syntax_error(text, used, builder.pointer(), code);
  return builder.take();
}

}  // namespace

Expected<Document> parse_json(std::string_view text, const ReadLimits& limits) {
  const std::size_t bytes = std::min(limits.bytes, most_bytes);
  if (text.size() > bytes)
    return Error{"", "the text has " + std::to_string(text.size()) + " bytes, more than the " +
                         std::to_string(bytes) + " allowed"};
  return parse_within_limits(text, std::min(limits.depth, most_depth));
}

std::string excerpt(std::string_view text) {
  constexpr std::size_t most = 48;
  std::size_t length = 0;
  while (length < text.size() && length < most)
    length += std::max<std::size_t>(1, utf8_sequence(text.substr(length)));
  TextWriter out(TextWriter::Spacing::tight);
  out.value(text.substr(0, length));
  std::string quoted = std::move(out).take();
  if (length < text.size()) quoted.insert(quoted.size() - 1, "…");
  return quoted;
}

}  // namespace kvedit
