#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <utility>

#include <kvedit/error.hpp>

namespace kvedit {

/// A regular file, open for reading. Its size is fixed at opening; a file that shrinks afterwards
/// makes reads fail, nothing more.
class InputFile {
 public:
  /// The error's message is the system's own.
  static Expected<InputFile> open(const std::filesystem::path& path);

  InputFile(InputFile&& other) noexcept
      : descriptor_(std::exchange(other.descriptor_, -1)), size_(other.size_) {}
  InputFile& operator=(InputFile&&) = delete;
  ~InputFile();

  std::uint64_t size() const { return size_; }

  /// Fills `out` from `offset`; false when the file does not hold that many bytes there.
  bool read(std::uint64_t offset, std::span<std::byte> out) const;

  /// Of all bytes, hexadecimal.
  Expected<std::string> sha256() const;

 private:
  InputFile(int descriptor, std::uint64_t size) : descriptor_(descriptor), size_(size) {}

  int descriptor_;
  std::uint64_t size_;
};

}  // namespace kvedit
