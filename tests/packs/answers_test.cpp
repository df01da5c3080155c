// What rules give back, through the fixtures and through tables made here.

#include <catch2/catch.hpp>
#include <cstring>
#include <stdexcept>

#include "abi/pack_rules.hpp"
#include "open.hpp"
#include "pack_tests.hpp"

namespace kvedit::test {
namespace {

using Function = decltype(kvedit_rule_pack::answer);

std::shared_ptr<const Rule> rule_of(const std::string& name) {
  const Expected<OpenedPacks> opened = open_packs(only_files({fixture(name)}));
  REQUIRE(opened);
  REQUIRE(opened->book.rules.size() == 1);
  return opened->book.rules.front();
}

Answer ask(Function function) {
  const kvedit_rule_pack table{sizeof(kvedit_rule_pack), nullptr, function, nullptr};
  const RuleInfo info{"test.made-rule", "test.made", "1", "vendor", 0, ""};
  const RowLayer layer;
  return make_pack_rule(table, 0, info)->answer(layer.facts);
}

/// A right answer, for functions that then change one thing of it.
kvedit_box& match(kvedit_answer* out) {
  out->verdict = KVEDIT_ANSWER_MATCH;
  out->box_count = 1;
  kvedit_box& box = out->boxes[0];
  box.tensor = 0;
  box.offset = 0;
  box.item_bytes = 2;
  box.axis_count = 2;
  box.axes[0] = {4, 128, KVEDIT_ROLE_BLOCK, 0};
  box.axes[1] = {48, 2, KVEDIT_ROLE_CONTENT, 0};
  return box;
}

void add_fact(kvedit_answer* out, kvedit_text name, kvedit_text text) {
  out->facts[out->fact_count++] = {name, text, 5};
}

struct Wrong {
  const char* reason;
  Function function;
};

#define WRONG(reason, ...)                                                               \
  Wrong {                                                                                \
    reason, [](std::uint32_t, const kvedit_layer*, kvedit_answer* out) -> std::int32_t { \
      kvedit_box& box = match(out);                                                      \
      static_cast<void>(box);                                                            \
      __VA_ARGS__;                                                                       \
      return 0;                                                                          \
    }                                                                                    \
  }

const Wrong wrong_answers[] = {
    WRONG("gave the verdict 4; 0 to 3 are known", out->verdict = 4),
    WRONG("gave 2 for order_declared, not 0 or 1", out->order_declared = 2),
    WRONG("gave a match without a box", out->box_count = 0),
    WRONG("gave 18446744073709551615 boxes; 16 is the most", out->box_count = UINT64_MAX),
    WRONG("gave 17 facts; 16 is the most", out->fact_count = 17),
    WRONG("gave 4097 bytes of text; 4096 is the most", out->text_used = 4097),
    WRONG("gave a reason of 11 bytes in 10 bytes of text", out->text_used = 10,
          out->reason_size = 11),
    WRONG("started box 0 from tensor 1 of 1", box.tensor = 1),
    WRONG("gave box 0 items of 0 bytes; 1 is the least", box.item_bytes = 0),
    WRONG("gave box 0 items of -9223372036854775808 bytes; 1 is the least",
          box.item_bytes = INT64_MIN),
    WRONG("gave box 0 0 axes; 1 to 8 are allowed", box.axis_count = 0),
    WRONG("gave box 0 9 axes; 1 to 8 are allowed", box.axis_count = 9),
    WRONG("gave box 0 0 bytes, not the 224 of the host", box.struct_size = 0),
    WRONG("gave axis 1 of box 0 the extent 0; 1 is the least", box.axes[1].extent = 0),
    WRONG("gave axis 1 of box 0 the extent -4; 1 is the least", box.axes[1].extent = -4),
    WRONG("gave axis 1 of box 0 the role 6; 0 to 5 are known", box.axes[1].role = 6),
    WRONG("gave axis 0 of box 0 9 for reserved, not 0", box.axes[0].reserved = 9),
    WRONG("gave box 0 0 block axes, not 1", box.axes[0].role = KVEDIT_ROLE_TOKEN),
    WRONG("gave box 0 2 block axes, not 1", box.axes[1].role = KVEDIT_ROLE_BLOCK),
    WRONG("gave box 0 2 kernel_page axes; 1 is the most", box.axis_count = 3,
          box.axes[1].role = KVEDIT_ROLE_KERNEL_PAGE,
          box.axes[2] = kvedit_axis{2, 2, KVEDIT_ROLE_KERNEL_PAGE, 0}),
    WRONG("gave box 1 items of 0 bytes; 1 is the least", out->box_count = 2,
          out->boxes[1].item_bytes = 0, out->boxes[1].tensor = 0),
    WRONG("gave fact 0 no name", add_fact(out, {nullptr, 0}, {"a", 1})),
    WRONG("gave a name of fact 0 of 5000 bytes; 4096 is the most",
          add_fact(out, {"a", 5000}, {nullptr, 0})),
    WRONG("gave a text of fact 0 of 1 bytes at no address", add_fact(out, {"a", 1}, {nullptr, 1})),
    WRONG("gave a text of fact 0 that is not UTF-8", add_fact(out, {"a", 1}, {"\xC0\x80", 2})),
    WRONG("changed a size, capacity or address that the host gave it", out->box_capacity = 99),
    WRONG("changed a size, capacity or address that the host gave it", out->text = nullptr),
    WRONG("wrote behind the boxes", std::memset(&box, 1, sizeof box* KVEDIT_MAX_BOXES + 8)),
    WRONG("wrote behind the facts",
          std::memset(static_cast<void*>(out->facts), 1, sizeof(kvedit_fact) * 16 + 64)),
    WRONG("wrote behind the answer", std::memset(static_cast<void*>(out + 1), 1, 1)),
};

}  // namespace

TEST_CASE("an answer that breaks the rules of the boundary is an error that says how") {
  for (const Wrong& wrong : wrong_answers) {
    CAPTURE(wrong.reason);
    const Answer answer = ask(wrong.function);
    CHECK(answer.verdict == Verdict::error);
    CHECK(answer.reason == wrong.reason);
    CHECK(answer.plan.boxes.empty());
  }
}

TEST_CASE("a rule of a broken pack gives an error, and the process goes on") {
  const auto [name, reason] = GENERATE(table<std::string, std::string>({
      {"reason_not_utf8", "gave a reason that is not UTF-8"},
      {"huge_reason", "gave 18446744073709551615 bytes of text; 4096 is the most"},
      {"many_boxes", "gave 17 boxes; 16 is the most"},
      {"high_rank", "gave box 0 9 axes; 1 to 8 are allowed"},
      {"garbage", "gave the verdict 4008636142; 0 to 3 are known"},
      {"writes_behind", "wrote behind the text"},
      {"fails", "rule pack test.fails failed without a text, with status -1"},
      {"throws", "threw: no such axis"},
  }));
  CAPTURE(name);
  const RowLayer layer;
  const Answer answer = rule_of(name)->answer(layer.facts);
  CHECK(answer.verdict == Verdict::error);
  CHECK(answer.reason == reason);
}

TEST_CASE("anything may be thrown") {
  RowLayer layer;
  layer.facts.num_blocks = 1;
  CHECK(rule_of("throws")->answer(layer.facts).reason ==
        "threw something that is no std::exception");
}

TEST_CASE("a rule in plain C matches with a plan, a reason and facts") {
  const RowLayer layer;
  const Answer answer = rule_of("good")->answer(layer.facts);
  CHECK(answer.verdict == Verdict::match);
  CHECK(answer.reason == "a row for each block");
  REQUIRE(answer.plan.boxes.size() == 1);
  const Box& box = answer.plan.boxes[0];
  CHECK(!answer.plan.declared);
  CHECK(box.tensor == 0);
  CHECK(box.offset == 0);
  CHECK(box.item_bytes == 2);
  REQUIRE(box.axes.size() == 2);
  CHECK(box.axes[0] == Axis{4, 128, Role::block});
  CHECK(box.axes[1] == Axis{48, 2, Role::content});
  CHECK(answer.facts == std::vector<Fact>{{"page", std::int64_t{128}}});

  RowLayer attention;
  attention.spec.kind = Kind::full_attention;
  const Answer other = rule_of("good")->answer(attention.facts);
  CHECK(other.verdict == Verdict::no_match);
  CHECK(other.reason == "not a row for each block");
  CHECK(other.plan.boxes.empty());
}

TEST_CASE("an answer that changes can be told from the first") {
  const RowLayer layer;
  const auto rule = rule_of("changes");
  const Answer first = rule->answer(layer.facts);
  CHECK(first.verdict == Verdict::no_match);
  CHECK(!(rule->answer(layer.facts) == first));
  const auto steady = rule_of("good");
  CHECK(steady->answer(layer.facts) == steady->answer(layer.facts));
}

TEST_CASE("status, verdict and text of a failure") {
  const Answer status = ask([](std::uint32_t, const kvedit_layer*, kvedit_answer* out) {
    std::memcpy(out->text, "lost", 4);
    out->text_used = out->reason_size = 4;
    return std::int32_t{-3};
  });
  CHECK(status.verdict == Verdict::error);
  CHECK(status.reason == "failed with status -3: lost");

  const Answer silent = ask([](std::uint32_t, const kvedit_layer*, kvedit_answer* out) {
    out->verdict = KVEDIT_ANSWER_ERROR;
    return std::int32_t{0};
  });
  CHECK(silent.reason == "rule pack test.made failed without a text, with status 0");

  const Answer refusal = ask([](std::uint32_t, const kvedit_layer*, kvedit_answer* out) {
    out->verdict = KVEDIT_ANSWER_REFUSE;
    return std::int32_t{0};
  });
  CHECK(refusal.verdict == Verdict::refuse);
  CHECK(refusal.reason == "rule pack test.made refused without a text");
}

TEST_CASE("texts of facts may lie in the buffer behind the reason") {
  const Answer answer = ask([](std::uint32_t, const kvedit_layer*, kvedit_answer* out) {
    std::memcpy(out->text, "why\xC3\xA9t\xC3\xA9", 8);
    out->reason_size = 3;
    out->text_used = 8;
    out->facts[0] = {{"season", 6}, {out->text + 3, 5}, 0};
    out->fact_count = 1;
    return std::int32_t{0};
  });
  CHECK(answer.verdict == Verdict::no_match);
  CHECK(answer.reason == "why");
  CHECK(answer.facts == std::vector<Fact>{{"season", std::string("\xC3\xA9t\xC3\xA9")}});
}

TEST_CASE("a validator has no plan to give") {
  const kvedit_validate_v1 matches{sizeof(kvedit_validate_v1),
                                   [](const kvedit_group*, kvedit_answer* out) {
                                     match(out);
                                     return std::int32_t{0};
                                   }};
  const RowLayer layer;
  const Answer answer =
      make_pack_validator(matches, "test.made")->validate(std::span(&layer.facts, 1), 1);
  CHECK(answer.verdict == Verdict::error);
  CHECK(answer.reason == "gave the verdict match; a validator refuses or has no objection");
}

}  // namespace kvedit::test
