// The released layout of the boundary. A line here is never changed: a struct that grows gets new
// lines at its end and a new TOTAL, and only if it starts with struct_size.
#include <kvedit/rule_abi.h>

#include <cstddef>

#define TOTAL(type, bytes) static_assert(sizeof(type) == (bytes), #type " changed its size")
#define SLOT(type, field, offset, bytes)                                             \
  static_assert(offsetof(type, field) == (offset) && sizeof(type::field) == (bytes), \
                #type "::" #field " moved")

TOTAL(kvedit_text, 16);
SLOT(kvedit_text, data, 0, 8);
SLOT(kvedit_text, size, 8, 8);

TOTAL(kvedit_value, 56);
SLOT(kvedit_value, kind, 0, 4);
SLOT(kvedit_value, reserved, 4, 4);
SLOT(kvedit_value, integer, 8, 8);
SLOT(kvedit_value, real, 16, 8);
SLOT(kvedit_value, text, 24, 16);
SLOT(kvedit_value, items, 40, 8);
SLOT(kvedit_value, item_count, 48, 8);

TOTAL(kvedit_attribute, 72);
SLOT(kvedit_attribute, name, 0, 16);
SLOT(kvedit_attribute, value, 16, 56);

TOTAL(kvedit_tensor, 80);
SLOT(kvedit_tensor, struct_size, 0, 8);
SLOT(kvedit_tensor, dtype_name, 8, 16);
SLOT(kvedit_tensor, dtype_code, 24, 4);
SLOT(kvedit_tensor, dtype_bits, 28, 4);
SLOT(kvedit_tensor, dtype_lanes, 32, 4);
SLOT(kvedit_tensor, item_bytes, 36, 4);
SLOT(kvedit_tensor, rank, 40, 8);
SLOT(kvedit_tensor, extents, 48, 8);
SLOT(kvedit_tensor, strides, 56, 8);
SLOT(kvedit_tensor, offset, 64, 8);
SLOT(kvedit_tensor, shares_storage, 72, 4);
SLOT(kvedit_tensor, reserved, 76, 4);

TOTAL(kvedit_layer, 184);
SLOT(kvedit_layer, struct_size, 0, 8);
SLOT(kvedit_layer, type, 8, 16);
SLOT(kvedit_layer, bases, 24, 8);
SLOT(kvedit_layer, base_count, 32, 8);
SLOT(kvedit_layer, layout, 40, 16);
SLOT(kvedit_layer, role, 56, 16);
SLOT(kvedit_layer, kind, 72, 4);
SLOT(kvedit_layer, group_flags, 76, 4);
SLOT(kvedit_layer, purpose, 80, 4);
SLOT(kvedit_layer, reserved, 84, 4);
SLOT(kvedit_layer, num_blocks, 88, 8);
SLOT(kvedit_layer, block_size, 96, 8);
SLOT(kvedit_layer, page_bytes, 104, 8);
SLOT(kvedit_layer, unpadded_page_bytes, 112, 8);
SLOT(kvedit_layer, state_bytes, 120, 8);
SLOT(kvedit_layer, slots, 128, 8);
SLOT(kvedit_layer, attributes, 136, 8);
SLOT(kvedit_layer, attribute_count, 144, 8);
SLOT(kvedit_layer, tensors, 152, 8);
SLOT(kvedit_layer, tensor_count, 160, 8);
SLOT(kvedit_layer, tensor_stride, 168, 8);
SLOT(kvedit_layer, placed_block_stride, 176, 8);

TOTAL(kvedit_axis, 24);
SLOT(kvedit_axis, extent, 0, 8);
SLOT(kvedit_axis, stride, 8, 8);
SLOT(kvedit_axis, role, 16, 4);
SLOT(kvedit_axis, reserved, 20, 4);

TOTAL(kvedit_box, 224);
SLOT(kvedit_box, struct_size, 0, 8);
SLOT(kvedit_box, tensor, 8, 4);
SLOT(kvedit_box, axis_count, 12, 4);
SLOT(kvedit_box, offset, 16, 8);
SLOT(kvedit_box, item_bytes, 24, 8);
SLOT(kvedit_box, axes, 32, 192);

TOTAL(kvedit_fact, 40);
SLOT(kvedit_fact, name, 0, 16);
SLOT(kvedit_fact, text, 16, 16);
SLOT(kvedit_fact, number, 32, 8);

TOTAL(kvedit_answer, 104);
SLOT(kvedit_answer, struct_size, 0, 8);
SLOT(kvedit_answer, verdict, 8, 4);
SLOT(kvedit_answer, order_declared, 12, 4);
SLOT(kvedit_answer, boxes, 16, 8);
SLOT(kvedit_answer, box_stride, 24, 8);
SLOT(kvedit_answer, box_capacity, 32, 8);
SLOT(kvedit_answer, box_count, 40, 8);
SLOT(kvedit_answer, text, 48, 8);
SLOT(kvedit_answer, text_capacity, 56, 8);
SLOT(kvedit_answer, text_used, 64, 8);
SLOT(kvedit_answer, reason_size, 72, 8);
SLOT(kvedit_answer, facts, 80, 8);
SLOT(kvedit_answer, fact_capacity, 88, 8);
SLOT(kvedit_answer, fact_count, 96, 8);

TOTAL(kvedit_rule_descriptor, 272);
SLOT(kvedit_rule_descriptor, id, 0, 96);
SLOT(kvedit_rule_descriptor, summary, 96, 160);
SLOT(kvedit_rule_descriptor, tier, 256, 4);
SLOT(kvedit_rule_descriptor, priority, 260, 4);
SLOT(kvedit_rule_descriptor, reserved, 264, 8);

TOTAL(kvedit_pack_descriptor, 200);
SLOT(kvedit_pack_descriptor, magic, 0, 16);
SLOT(kvedit_pack_descriptor, header_size, 16, 4);
SLOT(kvedit_pack_descriptor, rule_size, 20, 4);
SLOT(kvedit_pack_descriptor, rule_count, 24, 4);
SLOT(kvedit_pack_descriptor, abi_major, 28, 4);
SLOT(kvedit_pack_descriptor, abi_minor, 32, 4);
SLOT(kvedit_pack_descriptor, reserved, 36, 4);
SLOT(kvedit_pack_descriptor, id, 40, 64);
SLOT(kvedit_pack_descriptor, version, 104, 32);
SLOT(kvedit_pack_descriptor, vendor, 136, 64);

TOTAL(kvedit_rule_pack, 32);
SLOT(kvedit_rule_pack, struct_size, 0, 8);
SLOT(kvedit_rule_pack, descriptor, 8, 8);
SLOT(kvedit_rule_pack, answer, 16, 8);
SLOT(kvedit_rule_pack, extension, 24, 8);

TOTAL(kvedit_rule_host, 48);
SLOT(kvedit_rule_host, struct_size, 0, 8);
SLOT(kvedit_rule_host, abi_major, 8, 4);
SLOT(kvedit_rule_host, abi_minor, 12, 4);
SLOT(kvedit_rule_host, version, 16, 16);
SLOT(kvedit_rule_host, extension, 32, 8);
SLOT(kvedit_rule_host, refuse, 40, 8);

TOTAL(kvedit_group, 40);
SLOT(kvedit_group, struct_size, 0, 8);
SLOT(kvedit_group, leaves, 8, 8);
SLOT(kvedit_group, leaf_count, 16, 8);
SLOT(kvedit_group, leaf_stride, 24, 8);
SLOT(kvedit_group, layer_count, 32, 8);

TOTAL(kvedit_validate_v1, 16);
SLOT(kvedit_validate_v1, struct_size, 0, 8);
SLOT(kvedit_validate_v1, validate, 8, 8);

static_assert(KVEDIT_RULE_ABI_MAJOR == 1 && sizeof(KVEDIT_RULE_MAGIC) == 16);
static_assert(KVEDIT_MAX_AXES == 8 && KVEDIT_MAX_BOXES == 16 && KVEDIT_MAX_TEXT == 4096 &&
              KVEDIT_MAX_FACTS == 16 && KVEDIT_MAX_RULES == 256);
static_assert(KVEDIT_VALUE_NULL == 0 && KVEDIT_VALUE_BOOLEAN == 1 && KVEDIT_VALUE_INTEGER == 2 &&
              KVEDIT_VALUE_REAL == 3 && KVEDIT_VALUE_TEXT == 4 && KVEDIT_VALUE_LIST == 5 &&
              KVEDIT_VALUE_JSON == 6);
static_assert(KVEDIT_KIND_UNKNOWN == 0 && KVEDIT_KIND_FULL_ATTENTION == 1 &&
              KVEDIT_KIND_MLA_ATTENTION == 2 && KVEDIT_KIND_SLIDING_WINDOW == 3 &&
              KVEDIT_KIND_SLIDING_WINDOW_MLA == 4 && KVEDIT_KIND_MAMBA == 5 &&
              KVEDIT_KIND_CHUNKED_LOCAL_ATTENTION == 6 && KVEDIT_KIND_SINK_FULL_ATTENTION == 7 &&
              KVEDIT_KIND_ENCODER_ONLY_ATTENTION == 8 && KVEDIT_KIND_CROSS_ATTENTION == 9);
static_assert(KVEDIT_ROLE_BLOCK == 0 && KVEDIT_ROLE_KERNEL_PAGE == 1 && KVEDIT_ROLE_KV == 2 &&
              KVEDIT_ROLE_HEAD == 3 && KVEDIT_ROLE_TOKEN == 4 && KVEDIT_ROLE_CONTENT == 5);
static_assert(KVEDIT_ANSWER_NO_MATCH == 0 && KVEDIT_ANSWER_MATCH == 1 &&
              KVEDIT_ANSWER_REFUSE == 2 && KVEDIT_ANSWER_ERROR == 3);
static_assert(KVEDIT_TIER_VENDOR == 1 && KVEDIT_TIER_STANDARD == 2 && KVEDIT_TIER_FALLBACK == 3);
static_assert(KVEDIT_GROUP_TRANSFERRED == 1 && KVEDIT_GROUP_HOST_RESIDENT == 2 &&
              KVEDIT_GROUP_EAGLE == 4);
static_assert(KVEDIT_PURPOSE_PREFIX == 0 && KVEDIT_PURPOSE_TRANSFER == 1);
static_assert(KVEDIT_ABSENT == INT64_MIN);
