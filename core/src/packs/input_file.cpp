#include "packs/input_file.hpp"

#include <sys/stat.h>
#include <unistd.h>
#include <algorithm>
#include <array>
#include <cerrno>
#include <memory>
#include <system_error>
#include <vector>

#include <fcntl.h>
#include <openssl/evp.h>

namespace kvedit {
namespace {

Error system_error(int number) { return {"", std::generic_category().message(number)}; }

}  // namespace

Expected<InputFile> InputFile::open(const std::filesystem::path& path) {
  // Not blocking: a named pipe must not hold us.
  const int descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
  if (descriptor < 0) return system_error(errno);
  struct stat status {};
  const int result = ::fstat(descriptor, &status);
  const int number = errno;
  InputFile file(descriptor, result == 0 ? static_cast<std::uint64_t>(status.st_size) : 0);
  if (result != 0) return system_error(number);
  if (!S_ISREG(status.st_mode)) return Error{"", "not a regular file"};
  return file;
}

InputFile::~InputFile() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

bool InputFile::read(std::uint64_t offset, std::span<std::byte> out) const {
  if (offset > size_ || out.size() > size_ - offset) return false;
  while (!out.empty()) {
    const ssize_t got = ::pread(descriptor_, out.data(), out.size(), static_cast<off_t>(offset));
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return false;
    offset += static_cast<std::uint64_t>(got);
    out = out.subspan(static_cast<std::size_t>(got));
  }
  return true;
}

Expected<std::string> InputFile::sha256() const {
  const std::unique_ptr<EVP_MD_CTX, decltype(&EVP_MD_CTX_free)> context(EVP_MD_CTX_new(),
                                                                        EVP_MD_CTX_free);
  if (!context || EVP_DigestInit_ex(context.get(), EVP_sha256(), nullptr) != 1)
    return Error{"", "libcrypto has no SHA-256"};
  std::vector<std::byte> buffer(std::size_t{1} << 16);
  for (std::uint64_t at = 0; at < size_; at += buffer.size()) {
    const std::span piece(buffer.data(), std::min<std::uint64_t>(buffer.size(), size_ - at));
    if (!read(at, piece)) return Error{"", "the file changed while it was read"};
    if (EVP_DigestUpdate(context.get(), piece.data(), piece.size()) != 1)
      return Error{"", "SHA-256 failed"};
  }
  std::array<unsigned char, 32> digest{};
  if (EVP_DigestFinal_ex(context.get(), digest.data(), nullptr) != 1)
    return Error{"", "SHA-256 failed"};
  std::string text;
  for (const unsigned char byte : digest) {
    text += "0123456789abcdef"[byte >> 4];
    text += "0123456789abcdef"[byte & 15];
  }
  return text;
}

}  // namespace kvedit
