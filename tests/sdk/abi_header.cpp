#include <kvedit/rule_abi.h>

static_assert(sizeof(kvedit_rule_entry) == sizeof(void*));
