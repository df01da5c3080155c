#include "dtypes.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <string>
#include <string_view>

#if __has_include(<c10/util/Float8_e4m3fn.h>)
#define KVEDIT_TORCH_FLOAT8 1
#endif
#if __has_include(<c10/util/Float8_e4m3fnuz.h>)
#define KVEDIT_TORCH_FLOAT8_FNUZ 1
#endif
#if __has_include(<c10/util/Float8_e8m0fnu.h>)  // later than uint16, uint32, uint64
#define KVEDIT_TORCH_FLOAT8_SCALE 1
#endif
#if __has_include(<c10/util/Float4_e2m1fn_x2.h>)
#define KVEDIT_TORCH_FLOAT4 1
#endif

namespace kvedit::torch {
namespace {

struct Known {
  at::ScalarType type;
  std::string_view name;
};

constexpr std::array known = {
    Known{at::ScalarType::Bool, "bool"},
    Known{at::ScalarType::Byte, "uint8"},
    Known{at::ScalarType::Char, "int8"},
    Known{at::ScalarType::Short, "int16"},
    Known{at::ScalarType::Int, "int32"},
    Known{at::ScalarType::Long, "int64"},
    Known{at::ScalarType::Half, "float16"},
    Known{at::ScalarType::BFloat16, "bfloat16"},
    Known{at::ScalarType::Float, "float32"},
    Known{at::ScalarType::Double, "float64"},
    Known{at::ScalarType::ComplexHalf, "complex32"},
    Known{at::ScalarType::ComplexFloat, "complex64"},
    Known{at::ScalarType::ComplexDouble, "complex128"},
#ifdef KVEDIT_TORCH_FLOAT8
    Known{at::ScalarType::Float8_e4m3fn, "float8_e4m3fn"},
    Known{at::ScalarType::Float8_e5m2, "float8_e5m2"},
#endif
#ifdef KVEDIT_TORCH_FLOAT8_FNUZ
    Known{at::ScalarType::Float8_e4m3fnuz, "float8_e4m3fnuz"},
    Known{at::ScalarType::Float8_e5m2fnuz, "float8_e5m2fnuz"},
#endif
#ifdef KVEDIT_TORCH_FLOAT8_SCALE
    Known{at::ScalarType::Float8_e8m0fnu, "float8_e8m0fnu"},
    Known{at::ScalarType::UInt16, "uint16"},
    Known{at::ScalarType::UInt32, "uint32"},
    Known{at::ScalarType::UInt64, "uint64"},
#endif
#ifdef KVEDIT_TORCH_FLOAT4
    Known{at::ScalarType::Float4_e2m1fn_x2, "float4_e2m1fn_x2"},
#endif
};

constexpr std::uint32_t key(std::uint32_t code, std::uint32_t bits, std::uint32_t lanes) {
  return code | bits << 8 | lanes << 16;
}

bool is_byte(at::ScalarType type) {
  return type == at::ScalarType::Byte || type == at::ScalarType::Char;
}

// Quantised types have the code of the integers they are made of.
bool is_quantised(const DType& dtype) { return dtype.name.starts_with('q'); }

}  // namespace

std::optional<at::ScalarType> scalar_type(const DType& dtype) {
  if (is_quantised(dtype)) return std::nullopt;
  switch (key(dtype.code, dtype.bits, dtype.lanes)) {
    case key(0, 8, 1): return at::ScalarType::Char;
    case key(0, 16, 1): return at::ScalarType::Short;
    case key(0, 32, 1): return at::ScalarType::Int;
    case key(0, 64, 1): return at::ScalarType::Long;
    case key(1, 8, 1): return at::ScalarType::Byte;
    case key(2, 16, 1): return at::ScalarType::Half;
    case key(2, 32, 1): return at::ScalarType::Float;
    case key(2, 64, 1): return at::ScalarType::Double;
    case key(4, 16, 1): return at::ScalarType::BFloat16;
    case key(5, 32, 1): return at::ScalarType::ComplexHalf;
    case key(5, 64, 1): return at::ScalarType::ComplexFloat;
    case key(5, 128, 1): return at::ScalarType::ComplexDouble;
    case key(6, 8, 1): return at::ScalarType::Bool;
#ifdef KVEDIT_TORCH_FLOAT8
    case key(10, 8, 1): return at::ScalarType::Float8_e4m3fn;
    case key(12, 8, 1): return at::ScalarType::Float8_e5m2;
#endif
#ifdef KVEDIT_TORCH_FLOAT8_FNUZ
    case key(11, 8, 1): return at::ScalarType::Float8_e4m3fnuz;
    case key(13, 8, 1): return at::ScalarType::Float8_e5m2fnuz;
#endif
#ifdef KVEDIT_TORCH_FLOAT8_SCALE
    case key(14, 8, 1): return at::ScalarType::Float8_e8m0fnu;
    case key(1, 16, 1): return at::ScalarType::UInt16;
    case key(1, 32, 1): return at::ScalarType::UInt32;
    case key(1, 64, 1): return at::ScalarType::UInt64;
#endif
#ifdef KVEDIT_TORCH_FLOAT4
    case key(17, 4, 2): return at::ScalarType::Float4_e2m1fn_x2;
#endif
    default: return std::nullopt;
  }
}

DType dtype_of(at::ScalarType type) {
  for (const Known& each : known)
    if (each.type == type)
      if (std::optional<DType> dtype = find_dtype(each.name)) return *std::move(dtype);
  std::string name = c10::toString(type);
  std::transform(name.begin(), name.end(), name.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return opaque_dtype(name, static_cast<std::uint32_t>(c10::elementSize(type)));
}

std::optional<at::ScalarType> shown_type(const DType& dtype, at::ScalarType own) {
  if (const std::optional<at::ScalarType> type = scalar_type(dtype)) return type;
  if (is_byte(own) && dtype.itemsize == 1) return own;
  return std::nullopt;
}

}  // namespace kvedit::torch
