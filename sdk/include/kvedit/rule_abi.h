/* kvedit rule packs: the C boundary between host and pack.
 *
 * Conventions
 *  1. 64-bit little-endian only; fixed-width integers, counted UTF-8 texts, pointers to structs.
 *  2. A struct that can grow starts with `struct_size`, is never nested by value and is only
 *     appended to. Who reads one reads no further than the size it was given; who writes one writes
 *     no further. Either side may be newer. Structs without `struct_size` never change.
 *  3. Every array of structs that can grow comes with the stride of its elements in bytes.
 *  4. `reserved` is zero.
 *  5. What the entry returns is static and constant. What the host passes is valid during the call.
 *     Nothing allocated on one side is freed on the other; the host copies every text at once.
 *  6. No exception, signal or longjmp leaves a function of this header.
 *  7. `answer` and `validate` are pure: same input, same answer, to the byte. They may be called
 *     from any thread, several at once.
 *  8. Offsets and strides are bytes. dtypes are (code, bits, lanes) as DLPack has them, with a name.
 *  9. No pointer to tensor memory exists here.
 */
#ifndef KVEDIT_RULE_ABI_H
#define KVEDIT_RULE_ABI_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The major is in the entry's name and moves only when this header breaks; the minor counts
 * additions and is informational. */
#define KVEDIT_RULE_ABI_MAJOR 1u
#define KVEDIT_RULE_ABI_MINOR 1u
#define KVEDIT_RULE_ENTRY kvedit_rule_pack_v1
#define KVEDIT_RULE_ENTRY_NAME "kvedit_rule_pack_v1"

/* Section of the pack's file that holds its descriptor, read without running code. */
#define KVEDIT_RULE_SECTION ".kvedit.pack"
#define KVEDIT_RULE_MAGIC "kvedit.rulepack" /* 15 characters and the zero: 16 bytes */

#define KVEDIT_MAX_AXES 8u      /* of a box */
#define KVEDIT_MAX_BOXES 16u    /* of an answer */
#define KVEDIT_MAX_TEXT 4096u   /* bytes of a reason */
#define KVEDIT_MAX_FACTS 16u    /* of an answer */
#define KVEDIT_MAX_RULES 256u   /* of a pack */

/* ---- texts and values: fixed structs ------------------------------------------------------- */

/* UTF-8, not terminated; `data` may be null when `size` is 0. */
typedef struct kvedit_text {
  const char* data;
  uint64_t size;
} kvedit_text;

#define KVEDIT_VALUE_NULL 0u
#define KVEDIT_VALUE_BOOLEAN 1u /* integer: 0 or 1 */
#define KVEDIT_VALUE_INTEGER 2u
#define KVEDIT_VALUE_REAL 3u
#define KVEDIT_VALUE_TEXT 4u
#define KVEDIT_VALUE_LIST 5u
#define KVEDIT_VALUE_JSON 6u /* text: anything else, as JSON */

typedef struct kvedit_value {
  uint32_t kind;
  uint32_t reserved;
  int64_t integer;
  double real;
  kvedit_text text;
  const struct kvedit_value* items;
  uint64_t item_count;
} kvedit_value;

typedef struct kvedit_attribute {
  kvedit_text name;
  kvedit_value value;
} kvedit_attribute;

/* ---- the snapshot of a layer --------------------------------------------------------------- */

#define KVEDIT_KIND_UNKNOWN 0u
#define KVEDIT_KIND_FULL_ATTENTION 1u
#define KVEDIT_KIND_MLA_ATTENTION 2u
#define KVEDIT_KIND_SLIDING_WINDOW 3u
#define KVEDIT_KIND_SLIDING_WINDOW_MLA 4u
#define KVEDIT_KIND_MAMBA 5u
#define KVEDIT_KIND_CHUNKED_LOCAL_ATTENTION 6u
#define KVEDIT_KIND_SINK_FULL_ATTENTION 7u
#define KVEDIT_KIND_ENCODER_ONLY_ATTENTION 8u
#define KVEDIT_KIND_CROSS_ATTENTION 9u

/* A registered tensor. `offset` is that of its first element relative to the first element of the
 * layer's first tensor when both share a storage, else 0. */
typedef struct kvedit_tensor {
  uint64_t struct_size;
  kvedit_text dtype_name;
  uint32_t dtype_code;
  uint32_t dtype_bits;
  uint32_t dtype_lanes;
  uint32_t item_bytes;
  uint64_t rank;
  const int64_t* extents;
  const int64_t* strides; /* bytes */
  int64_t offset;         /* bytes */
  uint32_t shares_storage; /* 1: with the layer's first tensor */
  uint32_t reserved;
} kvedit_tensor;

#define KVEDIT_PURPOSE_PREFIX 0u
#define KVEDIT_PURPOSE_TRANSFER 1u

#define KVEDIT_GROUP_TRANSFERRED 1u
#define KVEDIT_GROUP_HOST_RESIDENT 2u
#define KVEDIT_GROUP_EAGLE 4u

#define KVEDIT_ABSENT INT64_MIN /* a number the spec does not give */

/* One layer: its leaf spec, its group's flags, its tensors. Layers with equal snapshots get one
 * answer. */
typedef struct kvedit_layer {
  uint64_t struct_size;
  kvedit_text type;         /* class name of the spec */
  const kvedit_text* bases; /* class names, most derived first */
  uint64_t base_count;
  kvedit_text layout; /* engine layout name, or empty */
  kvedit_text role;   /* of the group, or empty */
  uint32_t kind;      /* KVEDIT_KIND_… */
  uint32_t group_flags;
  uint32_t purpose;
  uint32_t reserved;
  int64_t num_blocks;
  int64_t block_size;          /* tokens */
  int64_t page_bytes;          /* padding included */
  int64_t unpadded_page_bytes; /* or KVEDIT_ABSENT */
  int64_t state_bytes;         /* recurrent states, or KVEDIT_ABSENT */
  int64_t slots;               /* states of a page by the spec; at least 1 */
  const kvedit_attribute* attributes; /* every field of the spec, also those above */
  uint64_t attribute_count;
  const kvedit_tensor* tensors;
  uint64_t tensor_count;
  uint64_t tensor_stride; /* bytes from one kvedit_tensor to the next */
  /* since minor 1 */
  int64_t placed_block_stride; /* bytes from block to block of the placement, or KVEDIT_ABSENT */
} kvedit_layer;

/* ---- the answer ---------------------------------------------------------------------------- */

#define KVEDIT_ROLE_BLOCK 0u
#define KVEDIT_ROLE_KERNEL_PAGE 1u
#define KVEDIT_ROLE_KV 2u
#define KVEDIT_ROLE_HEAD 3u
#define KVEDIT_ROLE_TOKEN 4u
#define KVEDIT_ROLE_CONTENT 5u

typedef struct kvedit_axis {
  int64_t extent;
  int64_t stride; /* bytes */
  uint32_t role;
  uint32_t reserved;
} kvedit_axis;

/* A strided box over the layer's storage. Index (i0, i1, …) holds `item_bytes` bytes at
 * `offset + Σ i·stride` from the first element of tensor `tensor`.
 * Exactly one axis has the role block. Without an axis of role kernel_page the host derives how many
 * of its entries make a block; with one, the block axis has `num_blocks` entries. */
typedef struct kvedit_box {
  uint64_t struct_size;
  uint32_t tensor;
  uint32_t axis_count;
  int64_t offset;
  int64_t item_bytes;
  kvedit_axis axes[KVEDIT_MAX_AXES];
} kvedit_box;

/* A name with a number (text.data null) or a text. */
typedef struct kvedit_fact {
  kvedit_text name;
  kvedit_text text;
  int64_t number;
} kvedit_fact;

#define KVEDIT_ANSWER_NO_MATCH 0u
#define KVEDIT_ANSWER_MATCH 1u
#define KVEDIT_ANSWER_REFUSE 2u /* it is mine, and it is wrong */
#define KVEDIT_ANSWER_ERROR 3u  /* the rule itself failed */

/* Host memory that a rule fills. On entry: capacities and buffers, counts zero, and in every box the
 * size it may have. The rule sets counts and contents, and in a box it fills the size it filled;
 * texts of facts go to `text` too, behind the reason. */
typedef struct kvedit_answer {
  uint64_t struct_size;
  uint32_t verdict;
  uint32_t order_declared; /* 1: the order of the bytes is the rule's word, the host cannot read it */
  kvedit_box* boxes;       /* one for each tensor, or one for all when they lie in one page */
  uint64_t box_stride;     /* bytes from one kvedit_box to the next */
  uint64_t box_capacity;
  uint64_t box_count;
  char* text;
  uint64_t text_capacity; /* bytes */
  uint64_t text_used;     /* bytes, reason and facts together */
  uint64_t reason_size;   /* bytes of the reason, at the start of `text` */
  kvedit_fact* facts;
  uint64_t fact_capacity;
  uint64_t fact_count;
} kvedit_answer;

/* ---- the pack ------------------------------------------------------------------------------ */

#define KVEDIT_TIER_VENDOR 1u
#define KVEDIT_TIER_STANDARD 2u
#define KVEDIT_TIER_FALLBACK 3u

/* Zero-terminated UTF-8 in fixed fields, the rest zero. */
typedef struct kvedit_rule_descriptor {
  char id[96];
  char summary[160];
  uint32_t tier;
  int32_t priority; /* higher is asked first, within the tier */
  uint32_t reserved[2];
} kvedit_rule_descriptor;

/* In section KVEDIT_RULE_SECTION, without pointers; rule_count rule descriptors of `rule_size` bytes
 * follow it at `header_size`. */
typedef struct kvedit_pack_descriptor {
  char magic[16];
  uint32_t header_size;
  uint32_t rule_size;
  uint32_t rule_count;
  uint32_t abi_major;
  uint32_t abi_minor;
  uint32_t reserved;
  char id[64];
  char version[32];
  char vendor[64];
} kvedit_pack_descriptor;

/* What the entry gives. `answer` fills `out` and gives 0, or another number when it could not: then
 * verdict and text are read as an error. `extension` gives a table for a string id with a revision,
 * or null; it may be null itself. */
typedef struct kvedit_rule_pack {
  uint64_t struct_size;
  const kvedit_pack_descriptor* descriptor; /* the bytes of the section */
  int32_t (*answer)(uint32_t rule, const kvedit_layer* layer, kvedit_answer* out);
  const void* (*extension)(const char* id);
} kvedit_rule_pack;

/* The host as the pack sees it during the handshake. */
typedef struct kvedit_rule_host {
  uint64_t struct_size;
  uint32_t abi_major;
  uint32_t abi_minor;
  kvedit_text version; /* of kvedit */
  const void* (*extension)(const char* id); /* null, or abilities of the host by string id */
  /* Takes the reason why the pack refuses this host. */
  void (*refuse)(const struct kvedit_rule_host* host, kvedit_text reason);
} kvedit_rule_host;

/* The one exported symbol. Null: the pack refuses; the reason was given to `host->refuse`. */
typedef const kvedit_rule_pack* (*kvedit_rule_entry)(const kvedit_rule_host* host);

/* ---- extension kvedit.validate/1 ----------------------------------------------------------- */

#define KVEDIT_VALIDATE_ID "kvedit.validate/1"

/* A group before matching. `leaves` are the distinct layers of the group (tensors included). */
typedef struct kvedit_group {
  uint64_t struct_size;
  const kvedit_layer* leaves;
  uint64_t leaf_count;
  uint64_t leaf_stride; /* bytes from one kvedit_layer to the next */
  uint64_t layer_count;
} kvedit_group;

/* Gives 0 with `out->verdict` no_match (the group is fine) or refuse (`unsupported-spec`, with the
 * reason), or another number for an error. */
typedef struct kvedit_validate_v1 {
  uint64_t struct_size;
  int32_t (*validate)(const kvedit_group* group, kvedit_answer* out);
} kvedit_validate_v1;

#ifdef __cplusplus
} /* extern "C" */
#endif

#endif /* KVEDIT_RULE_ABI_H */
