#pragma once

namespace kvedit::testing {

/// Every field of the format once; small enough to be damaged in every way.
constexpr const char* small_registration =
    R"({"schema": "kvedit.registration/1", "engine": {"name": "vllm", "version": "0.32.0"},
"model": "tiny", "layout": "HND", "num_blocks": 4,
"parallel": {"tp": 1, "pp": 1, "dcp": 1, "pcp": 1, "cp_interleave": 1},
"groups": [{"layers": ["a/b~c"],
  "spec": {"type": "FullAttentionSpec", "bases": ["AttentionSpec"], "kind": "full_attention",
    "block_size": 16, "page_size_bytes": 1024, "dtype": "int8", "head_size": 32,
    "prefix_cacheable": true, "extra_field": 1},
  "enable_kv_transfer": true, "host_resident": false, "is_eagle_group": false, "role": "r",
  "num_blocks": 4},
 {"layers": ["w"],
  "spec": {"type": "UniformTypeKVCacheSpecs", "bases": ["KVCacheSpec"], "block_size": 8,
    "page_size_bytes": 64},
  "layer_specs": {"w": {"type": "MambaSpec", "bases": [], "block_size": 8, "page_size_bytes": 64,
    "shapes": [[2, 3]], "dtypes": ["float32"]}}}],
"placements": [{"storage": "s0", "layers": ["a/b~c"], "offset": 0, "layer_stride": 4096,
  "block_stride": 1024}],
"storages": {"s0": {"nbytes": 4096, "device": "cpu"}, "s1": {"nbytes": 256, "device": "cpu"}},
"backends": {"a/b~c": "flash"},
"caches": {"a/b~c": {"dtype": "int8", "shape": [4, 1024], "stride": [1024, 1],
    "storage_offset": 0, "storage": "s0"},
  "w": [{"dtype": "odd24", "itemsize": 3, "shape": [4, 16], "stride": [16, 1],
    "storage_offset": 0, "storage": "s1"}]}})";

}  // namespace kvedit::testing
