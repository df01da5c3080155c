#include "fingerprint/sha256.hpp"

#include <array>

#include <openssl/evp.h>

namespace kvedit::fingerprint {

std::optional<std::string> sha256(std::string_view text) {
  std::array<unsigned char, 32> digest{};
  unsigned int size = 0;
  if (EVP_Digest(text.data(), text.size(), digest.data(), &size, EVP_sha256(), nullptr) != 1 ||
      size != digest.size())
    return std::nullopt;
  std::string hexadecimal;
  for (const unsigned char byte : digest) {
    hexadecimal += "0123456789abcdef"[byte >> 4];
    hexadecimal += "0123456789abcdef"[byte & 15];
  }
  return hexadecimal;
}

}  // namespace kvedit::fingerprint
