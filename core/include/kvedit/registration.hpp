#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <kvedit/dtype.hpp>
#include <kvedit/export.hpp>
#include <kvedit/spec.hpp>

namespace kvedit {

/// A registered tensor: metadata over a storage, never its memory. `stride` and `storage_offset`
/// are elements, as PyTorch prints them.
struct Tensor {
  DType dtype;
  std::vector<std::int64_t> shape;
  std::vector<std::int64_t> stride;
  std::int64_t storage_offset = 0;
  std::string storage;

  bool operator==(const Tensor&) const = default;
};

/// Layers that share block ids.
struct Group {
  std::vector<std::string> layers;
  Spec spec;
  std::map<std::string, Spec> layer_specs;  ///< leaf of each layer, for wrapper specs
  bool enable_kv_transfer = true;
  bool host_resident = false;
  bool is_eagle_group = false;
  std::string role;
  std::optional<std::int64_t> num_blocks;  ///< overrides the registration's
};

/// The page of layer `layers[l]`, block `b` starts at `offset + l·layer_stride + b·block_stride`
/// (bytes) of the storage.
struct Placement {
  std::string storage;
  std::vector<std::string> layers;
  std::int64_t offset = 0;
  std::int64_t layer_stride = 0;
  std::int64_t block_stride = 0;
};

/// One allocation.
struct Storage {
  std::string name;
  std::int64_t nbytes = 0;
  std::string device;
};

/// What the engine registered for one layer: a tensor, or a list of tensors.
struct Cache {
  std::string layer;
  std::vector<Tensor> tensors;
  bool is_list = false;
};

struct Parallel {
  std::int64_t tp = 1, pp = 1, dcp = 1, pcp = 1, cp_interleave = 1;
};

/// What an engine hands a connector, as facts (`kvedit.registration/1`, `docs/formats.md`).
struct RegistrationData {
  std::string engine_name, engine_version, model;  ///< shown only
  std::string layout;                              ///< empty, or one of the names of the format
  std::int64_t num_blocks = 0;
  Parallel parallel;
  std::vector<Group> groups;
  std::vector<Placement> placements;
  std::vector<Storage> storages;
  std::vector<Cache> caches;                    ///< in registration order
  std::map<std::string, std::string> backends;  ///< layer → attention backend class
};

struct RegistrationIndex;

/// An immutable registration with its names resolved; cheap to copy, safe to share among threads.
/// Wrong facts (a layer named twice, an unknown storage) are kept: `Host::edit` reports them.
class KVEDIT_API Registration {
 public:
  explicit Registration(RegistrationData data);

  const RegistrationData& data() const { return *data_; }
  const RegistrationIndex& index() const { return *index_; }  ///< internal to the library

 private:
  std::shared_ptr<const RegistrationData> data_;
  std::shared_ptr<const RegistrationIndex> index_;
};

}  // namespace kvedit
