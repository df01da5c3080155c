#pragma once

#include <string>
#include <vector>

#include <kvedit/registration.hpp>

#include "tensor.hpp"

namespace kvedit::python {

/// A registered layer with the tensors that a caller gave for it.
struct LiveLayer {
  const Cache* cache = nullptr;
  Ref name;
  Ref given;  ///< what the caller's mapping holds
  GivenTensors tensors;
};

/// Tensors that were compared with the registration they are said to be of.
class LiveCaches {
 public:
  /// Throws when they are not the registered ones.
  LiveCaches(const Registration& registration, PyObject* caches);
  /// Those that the registration was just made of; looks at no tensor again.
  /// @param caches  list of (layer, tensor or list), in registration order
  LiveCaches(const Registration& registration, PyObject* caches, std::vector<LiveStorage> storages);

  const std::vector<LiveLayer>& layers() const { return layers_; }  ///< in the caller's order
  /// Of each registered storage; one that no tensor lies in has no bytes.
  const std::vector<LiveStorage>& storages() const { return by_number_; }

 private:
  void add(PyObject* name, PyObject* given);
  void compare(const LiveLayer& layer, std::size_t at, const TensorFacts& facts);
  void bind(const LiveLayer& layer, const std::string& registered, std::size_t live);
  void check_apart() const;

  const RegistrationData& data_;
  std::unordered_map<std::string_view, const Cache*> registered_;
  std::unordered_map<std::string_view, std::size_t> storage_numbers_;
  std::unordered_map<std::string_view, std::size_t> by_name_;
  std::vector<LiveLayer> layers_;
  TensorReader reader_;
  std::vector<std::int64_t> live_of_;  // [registered storage] → the reader's number, or -1
  std::vector<LiveStorage> by_number_;
};

}  // namespace kvedit::python
