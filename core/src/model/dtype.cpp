#include <array>

#include <kvedit/dtype.hpp>

namespace kvedit {
namespace {

struct Row {
  std::string_view name;
  std::uint8_t code;
  std::uint8_t bits;
  std::uint16_t lanes;
};

// Codes: dlpack.h, DLDataTypeCode.
constexpr std::array rows = {
    Row{"bool", 6, 8, 1},
    Row{"uint8", 1, 8, 1},
    Row{"uint16", 1, 16, 1},
    Row{"uint32", 1, 32, 1},
    Row{"uint64", 1, 64, 1},
    Row{"int8", 0, 8, 1},
    Row{"int16", 0, 16, 1},
    Row{"int32", 0, 32, 1},
    Row{"int64", 0, 64, 1},
    Row{"float16", 2, 16, 1},
    Row{"bfloat16", 4, 16, 1},
    Row{"float32", 2, 32, 1},
    Row{"float64", 2, 64, 1},
    Row{"complex32", 5, 32, 1},
    Row{"complex64", 5, 64, 1},
    Row{"complex128", 5, 128, 1},
    Row{"float8_e4m3fn", 10, 8, 1},
    Row{"float8_e4m3fnuz", 11, 8, 1},
    Row{"float8_e5m2", 12, 8, 1},
    Row{"float8_e5m2fnuz", 13, 8, 1},
    Row{"float8_e8m0fnu", 14, 8, 1},
    Row{"float4_e2m1fn_x2", 17, 4, 2},
    Row{"qint8", 0, 8, 1},
    Row{"quint8", 1, 8, 1},
    Row{"qint32", 0, 32, 1},
    // Short names PyTorch accepts.
    Row{"half", 2, 16, 1},
    Row{"float", 2, 32, 1},
    Row{"double", 2, 64, 1},
    Row{"short", 0, 16, 1},
    Row{"int", 0, 32, 1},
    Row{"long", 0, 64, 1},
};

}  // namespace

std::optional<DType> find_dtype(std::string_view name) {
  for (const Row& row : rows)
    if (row.name == name)
      return DType{std::string(name), row.code, row.bits, row.lanes,
                   static_cast<std::uint32_t>(row.bits) * row.lanes / 8};
  return std::nullopt;
}

DType opaque_dtype(std::string_view name, std::uint32_t itemsize) {
  // One byte a lane: (code, bits, lanes) still gives the size.
  return DType{std::string(name), DType::opaque_code, 8, static_cast<std::uint16_t>(itemsize),
               itemsize};
}

}  // namespace kvedit
