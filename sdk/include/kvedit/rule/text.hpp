/// Texts in place and the small formatter of reasons: `{}` takes integers, texts, kinds and roles.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <exception>
#include <kvedit/rule/words.hpp>
#include <string_view>
#include <type_traits>

#pragma GCC visibility push(hidden)
namespace kvedit::rule {

namespace detail {

/// How many bytes of `text` fit into `limit` without cutting a UTF-8 character.
constexpr std::size_t whole_characters(std::string_view text, std::size_t limit) {
  if (text.size() <= limit) return text.size();
  while (limit > 0 && (static_cast<unsigned char>(text[limit]) & 0xC0U) == 0x80U) --limit;
  return limit;
}

}  // namespace detail

/// UTF-8 without allocation. What does not fit is left out and the text ends in "…".
template <std::size_t Capacity>
class Text {
 public:
  static_assert(Capacity > 3, "a cut text needs room for its mark");

  Text() noexcept { bytes_[0] = '\0'; }  // the rest stays unset on purpose
  Text(const Text& other) noexcept : size_(other.size_), cut_(other.cut_) {
    std::memcpy(bytes_, other.bytes_, size_ + 1);
  }
  Text& operator=(const Text& other) noexcept {
    size_ = other.size_;
    cut_ = other.cut_;
    std::memmove(bytes_, other.bytes_, size_ + 1);
    return *this;
  }
  ~Text() = default;

  std::string_view view() const noexcept { return {bytes_, size_}; }
  const char* c_str() const noexcept { return bytes_; }
  bool empty() const noexcept { return size_ == 0; }
  bool cut() const noexcept { return cut_; }

  Text& append(std::string_view more) noexcept {
    if (cut_ || more.empty()) return *this;
    const std::size_t fits = detail::whole_characters(more, Capacity - mark.size() - size_);
    std::memcpy(bytes_ + size_, more.data(), fits);
    size_ += fits;
    if (fits < more.size()) {
      std::memcpy(bytes_ + size_, mark.data(), mark.size());
      size_ += mark.size();
      cut_ = true;
    }
    bytes_[size_] = '\0';
    return *this;
  }

 private:
  static constexpr std::string_view mark = "\xE2\x80\xA6";

  std::size_t size_ = 0;
  bool cut_ = false;
  char bytes_[Capacity + 1];
};

/// Why something is not so; one sentence with the numbers.
using Reason = Text<320>;

/// What `{}` can show.
class Arg {
 public:
  template <class T, std::enable_if_t<std::is_integral_v<T>, int> = 0>
  constexpr Arg(T value) noexcept : number_(true), negative_(value < T{}) {
    const auto bits = static_cast<std::uint64_t>(value);
    magnitude_ = negative_ ? ~bits + 1 : bits;
  }
  constexpr Arg(bool value) noexcept : text_(value ? "true" : "false") {}
  constexpr Arg(const char* value) noexcept : text_(value == nullptr ? "(null)" : value) {}
  constexpr Arg(std::string_view value) noexcept : text_(value) {}
  constexpr Arg(Kind value) noexcept : text_(to_text(value)) {}
  constexpr Arg(Role value) noexcept : text_(to_text(value)) {}
  template <std::size_t N>
  Arg(const Text<N>& value) noexcept : text_(value.view()) {}

  template <std::size_t N>
  void append_to(Text<N>& out) const noexcept {
    if (!number_) {
      out.append(text_);
      return;
    }
    char digits[20];
    std::size_t first = sizeof digits;
    std::uint64_t rest = magnitude_;
    do {
      digits[--first] = static_cast<char>('0' + rest % 10);
      rest /= 10;
    } while (rest != 0);
    if (negative_) out.append("-");
    out.append({digits + first, sizeof digits - first});
  }

 private:
  bool number_ = false;
  bool negative_ = false;
  std::uint64_t magnitude_ = 0;
  std::string_view text_;
};

/// A rule that uses the SDK wrongly (tensor 3 of 2); the host sees an error with this text.
class Fault : public std::exception {
 public:
  explicit Fault(const Reason& why) noexcept : why_(why) {}
  const char* what() const noexcept override { return why_.c_str(); }

 private:
  Reason why_;
};

/// A text with `Args` places `{}`; counted at compile time where the compiler can (C++20), else a
/// `Fault` when it is used. There is no escape: reasons need no braces.
template <std::size_t Args>
class Format {
 public:
#if defined(__cpp_consteval)
  consteval Format(const char* text) : text_(text) { check(); }
#else
  constexpr Format(const char* text) : text_(text) { check(); }
#endif
  constexpr std::string_view text() const { return text_; }

 private:
  constexpr void check() const {
    std::size_t places = 0;
    for (std::size_t i = 0; i + 1 < text_.size(); ++i)
      if (text_[i] == '{' && text_[i + 1] == '}') ++places;
    if (places != Args) throw Fault(Reason().append("as many {} as arguments: ").append(text_));
  }

  std::string_view text_;
};

/// Appends `format` with its places filled to `out`.
template <std::size_t N, class... Args>
void format_to(Text<N>& out, Format<sizeof...(Args)> format, const Args&... args) {
  const std::array<Arg, sizeof...(Args) + 1> list{Arg(args)..., Arg("")};
  std::string_view rest = format.text();
  for (std::size_t next = 0; next < sizeof...(Args); ++next) {
    const std::size_t place = rest.find("{}");
    out.append(rest.substr(0, place));
    list[next].append_to(out);
    rest.remove_prefix(place + 2);
  }
  out.append(rest);
}

template <class... Args>
Reason reason(Format<sizeof...(Args)> format, const Args&... args) {
  Reason out;
  format_to(out, format, args...);
  return out;
}

}  // namespace kvedit::rule
#pragma GCC visibility pop
