#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include <kvedit/export.hpp>

namespace kvedit {

/// The type of a tensor's elements: PyTorch's name without the prefix, and (code, bits, lanes) as
/// DLPack defines them (dlpack.h, `DLDataTypeCode`).
struct DType {
  static constexpr std::uint8_t opaque_code = 3;  ///< `kDLOpaqueHandle`: a name we do not know

  std::string name;
  std::uint8_t code = opaque_code;
  std::uint8_t bits = 0;   ///< of one lane
  std::uint16_t lanes = 1;
  std::uint32_t itemsize = 0;  ///< bytes of one element; at least 1

  bool operator==(const DType&) const = default;
};

/// The dtype PyTorch calls `name` ("bfloat16", "float8_e4m3fn", …), or nothing.
KVEDIT_API std::optional<DType> find_dtype(std::string_view name);

/// A dtype known only by name and size; its code is `opaque_code`.
/// @param itemsize bytes, 1 to 256
KVEDIT_API DType opaque_dtype(std::string_view name, std::uint32_t itemsize);

}  // namespace kvedit
