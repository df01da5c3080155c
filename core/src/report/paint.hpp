#pragma once

#include <span>
#include <string>
#include <string_view>

#include <kvedit/explain.hpp>

namespace kvedit::report {

enum class Ink { plain, strong, good, bad, warning, faint };

/// Writes words for people, in colour when wanted.
class Painter {
 public:
  explicit Painter(const TextOptions& options) : colours_(options.colours) {}

  std::string paint(Ink ink, std::string_view words) const;
  /// Foreign text: kvedit/printable.hpp.
  static std::string clean(std::string_view words);

 private:
  bool colours_;
};

/// "[64, 2, 544]"
std::string list(std::span<const std::int64_t> numbers);
std::string counted(std::int64_t count, std::string_view singular, std::string_view plural);
/// `words` and blanks up to `width`.
std::string padded(std::string_view words, std::size_t width);

/// Problems, errors first, each with its code, message and facts.
std::string problems(const Result& result, const Painter& painter);

}  // namespace kvedit::report
