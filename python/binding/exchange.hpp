#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "object.hpp"

namespace kvedit::python {

/// What a tensor says of itself in one call. Shape and stride are the tensor's own and live as
/// long.
struct Exchanged {
  std::int64_t data = 0;    ///< address of the first element
  std::int64_t device = 0;  ///< as `get_device()` numbers them: -1 for the CPU
  std::int32_t device_type = 0;
  std::uint32_t dtype = 0;  ///< equal for equal dtypes
  std::span<const std::int64_t> shape, stride;
};

/// Reads tensors through the C exchange API of DLPack 1.3, which torch has from 2.10 on: the same
/// facts as by attribute, without an object for each.
class Exchange {
 public:
  /// Nothing where the tensor's own class does not offer it (subclasses may answer otherwise), or
  /// where DLPack cannot say what the tensor is (meta tensors, rare dtypes).
  std::optional<Exchanged> read(PyObject* tensor);

 private:
  struct Table;
  static const Table* table_of(PyObject* type);

  Ref type_;  ///< the class that was asked last, and what it offers
  const Table* table_ = nullptr;
};

}  // namespace kvedit::python
