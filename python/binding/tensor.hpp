#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include <kvedit/registration.hpp>

#include "exchange.hpp"
#include "object.hpp"

namespace kvedit::python {

/// What a live tensor says of itself; read by attribute or DLPack, so that no torch is needed.
struct TensorFacts {
  const DType* dtype = nullptr;  ///< lives as long as the reader
  std::vector<std::int64_t> shape, stride;
  std::int64_t storage_offset = 0;  ///< elements
  std::size_t storage = 0;          ///< number in the reader's `storages`
};

/// Memory that tensors lie in. Tensors whose storages begin at one address of one device share it.
struct LiveStorage {
  std::uint64_t address = 0;  ///< of its first byte; 0 without memory (meta tensors)
  std::int64_t nbytes = 0;
  std::string device;
};

/// Which tensor an error is about; made into text only then.
struct Where {
  std::string_view prefix;  ///< "/caches/", or "layer "
  std::string_view layer;
  std::ptrdiff_t index = -1;  ///< in a list of tensors

  std::string text(std::string_view part = {}) const;
};

/// Reads tensors and tells their storages apart, in the order in which they are first seen.
class TensorReader {
 public:
  TensorReader();

  TensorFacts read(PyObject* tensor, const Where& where);

  const std::vector<LiveStorage>& storages() const { return storages_; }

 private:
  const DType& dtype_of(PyObject* tensor, const Where& where);
  /// A dtype of DLPack is one dtype of the tensors' class.
  const DType& dtype_of(PyObject* tensor, std::uint32_t exchanged, const Where& where);
  std::size_t storage_of(PyObject* tensor, const TensorFacts& facts, std::int64_t data,
                         std::int64_t device, const Where& where);
  Ref storage_object(PyObject* tensor) const;

  Exchange exchange_;
  Ref dtype_, shape_, stride_, offset_, data_ptr_, get_device_, untyped_, storage_name_;
  std::map<PyObject*, std::pair<Ref, DType>> dtypes_;
  std::map<std::uint32_t, const DType*> exchanged_dtypes_;
  std::map<std::array<std::int64_t, 3>, std::size_t> numbers_;
  std::vector<LiveStorage> storages_;
};

/// The tensors of one layer: one, or those of a list or tuple. Holds them: a list may change while
/// its tensors are asked.
class GivenTensors {
 public:
  explicit GivenTensors(PyObject* given);

  bool is_list() const { return is_list_; }
  std::size_t size() const;
  PyObject* operator[](std::size_t at) const;

 private:
  Ref given_;  ///< a tuple of them, or the one
  bool is_list_;
};

}  // namespace kvedit::python
