// One pack that compiles, and a mistake for each macro.

#include <kvedit/rule.hpp>

#define TEN(text) text text text text text text text text text text

#if defined(LONG_RULE_ID)
#define RULE_ID "odd." TEN("0123456789")
#elif defined(ID_WITHOUT_VENDOR)
#define RULE_ID ".rule"
#else
#define RULE_ID "odd.rule"
#endif

#if defined(LONG_PACK_ID)
#define PACK_ID "odd." TEN("012345")
#elif defined(PACK_ID_WITHOUT_VENDOR)
#define PACK_ID "pack"
#else
#define PACK_ID "odd.pack"
#endif

#if defined(LONG_SUMMARY)
#define SUMMARY TEN("0123456789012345")
#else
#define SUMMARY "a rule"
#endif

#if defined(SAME_ID_TWICE)
#define OTHER_ID RULE_ID
#else
#define OTHER_ID "odd.other"
#endif

namespace {

using namespace kvedit::rule;

struct First {
  static constexpr const char* id = RULE_ID;
  static constexpr const char* summary = SUMMARY;
  Answer answer(const Layer& layer) const { return no_match("{}", layer.kind()); }
};

struct Second {
  static constexpr const char* id = OTHER_ID;
  Answer answer(const Layer& layer) const { return no_match("{}", layer.kind()); }
};

}  // namespace

KVEDIT_RULE_PACK(PACK_ID, "1.0.0", "Odd", First, Second)
