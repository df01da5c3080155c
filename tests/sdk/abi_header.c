#include <kvedit/rule_abi.h>

/* An object of every kind, so that no type is left incomplete. */
const kvedit_rule_pack* kvedit_abi_header_in_c(const kvedit_rule_host* host);
const kvedit_rule_pack* kvedit_abi_header_in_c(const kvedit_rule_host* host) {
  static const kvedit_rule_pack pack = {sizeof(kvedit_rule_pack), 0, 0, 0};
  kvedit_rule_entry entry = kvedit_abi_header_in_c;
  kvedit_layer layer = {0};
  kvedit_tensor tensor = {0};
  kvedit_box box = {0};
  kvedit_group group = {0};
  layer.tensors = &tensor;
  group.leaves = &layer;
  return host != 0 && entry != 0 && group.leaves != 0 && box.axis_count == 0 ? &pack : 0;
}
