// What crosses the boundary stays within what the host gave, whatever the two sides' ages.
#include <algorithm>
#include <catch2/catch.hpp>
#include <cstddef>
#include <string>

#include "opened_pack.hpp"

using namespace sdk_test;

namespace {

enum Rule : std::uint32_t {
  throws,
  throws_number,
  needs_field,
  no_such_tensor,
  broken_box,
  talks,
  too_many_boxes,
  too_many_facts,
  refuses,
  no_such_rule
};

const OpenedPack& odd() {
  static const OpenedPack pack(SDK_TEST_PACKS "/sdk_test.odd.so");
  return pack;
}

/// 8 entries of 32 bytes, 2 in each of 4 blocks.
struct Paged : HandMade {
  Paged() : HandMade(KVEDIT_KIND_FULL_ATTENTION, 4, 64) {
    tensor(4, {8, 8}, {8, 1});
    raw().layout = keep("NHD");
  }
};

struct Said {
  std::int32_t status;
  std::uint32_t verdict;
  std::string reason;
};

Said ask(Rule rule, const HandMade& layer) {
  Memory memory;
  const std::int32_t status = odd().ask(rule, layer, memory);
  CHECK(memory.intact());
  return {status, memory.answer()->verdict, memory.reason()};
}

bool operator==(const Said& a, const Said& b) {
  return a.status == b.status && a.verdict == b.verdict && a.reason == b.reason;
}

}  // namespace

TEST_CASE("what a rule throws is an error with a text") {
  const Paged layer;
  CHECK(ask(throws, layer) == Said{0, KVEDIT_ANSWER_ERROR, "the disk is full"});
  CHECK(ask(throws_number, layer) ==
        Said{0, KVEDIT_ANSWER_ERROR, "the rule threw something that is no std::exception"});
  CHECK(ask(no_such_tensor, layer) == Said{0, KVEDIT_ANSWER_ERROR, "tensor 3 of a layer with 1"});
  CHECK(ask(broken_box, layer) ==
        Said{0, KVEDIT_ANSWER_ERROR,
             "the block axis has 8 entries, 4 blocks of 5 kernel pages have 20"});
  CHECK(ask(no_such_rule, layer) == Said{0, KVEDIT_ANSWER_ERROR, "the pack has no such rule"});
  CHECK(ask(too_many_boxes, layer) ==
        Said{0, KVEDIT_ANSWER_ERROR, "more boxes than an answer can have"});
  CHECK(ask(too_many_facts, layer) ==
        Said{0, KVEDIT_ANSWER_ERROR, "more facts than an answer can have"});
}

TEST_CASE("a missing field is no match, with the field's name") {
  Paged layer;
  CHECK(ask(needs_field, layer) ==
        Said{0, KVEDIT_ANSWER_NO_MATCH, "TestSpec has no integer field rows"});
  layer.with("rows", 3);
  CHECK(ask(needs_field, layer) ==
        Said{0, KVEDIT_ANSWER_NO_MATCH, "TestSpec has no text field colour"});
  layer.with("colour", "red");
  CHECK(ask(needs_field, layer) == Said{0, KVEDIT_ANSWER_NO_MATCH, "3 rows of red"});
}

TEST_CASE("no layer and no room are told by verdict and status") {
  Memory memory;
  CHECK(odd().table().answer(talks, nullptr, memory.answer()) == 0);
  CHECK(memory.answer()->verdict == KVEDIT_ANSWER_ERROR);
  const Paged layer;
  CHECK(odd().table().answer(talks, layer.get(), nullptr) != 0);
  Memory none({16, 64, 16, 8});
  CHECK(odd().ask(talks, layer, none) != 0);
  CHECK(none.intact());
}

TEST_CASE("boxes, reason and facts arrive whole") {
  const Paged layer;
  Memory memory;
  REQUIRE(odd().ask(talks, layer, memory) == 0);
  const kvedit_answer& answer = *memory.answer();
  CHECK(answer.verdict == KVEDIT_ANSWER_MATCH);
  CHECK(answer.order_declared == 1);
  CHECK(memory.reason() == "größer als 64");
  REQUIRE(answer.box_count == 2);
  CHECK(memory.box(0).struct_size == sizeof(kvedit_box));
  CHECK(memory.box(0).axis_count == 2);
  CHECK(memory.box(0).item_bytes == 4);
  const kvedit_box& box = memory.box(1);
  REQUIRE(box.axis_count == 4);
  const std::int64_t expected[4][3] = {{4, 64, KVEDIT_ROLE_BLOCK},
                                       {2, 32, KVEDIT_ROLE_KERNEL_PAGE},
                                       {2, 16, KVEDIT_ROLE_TOKEN},
                                       {4, 4, KVEDIT_ROLE_CONTENT}};
  for (int i = 0; i < 4; ++i) {
    CHECK(box.axes[i].extent == expected[i][0]);
    CHECK(box.axes[i].stride == expected[i][1]);
    CHECK(box.axes[i].role == expected[i][2]);
    CHECK(box.axes[i].reserved == 0);
  }
  for (std::uint32_t i = box.axis_count; i < KVEDIT_MAX_AXES; ++i) CHECK(box.axes[i].extent == 0);
  REQUIRE(answer.fact_count == 3);
  CHECK(text_of(memory.fact(0).name) == "kernel_pages");
  CHECK(memory.fact(0).number == 2);
  CHECK(memory.fact(0).text.data == nullptr);
  CHECK(text_of(memory.fact(1).name) == "layout");
  CHECK(text_of(memory.fact(1).text) == "NHD");
  CHECK(memory.fact(2).text.data != nullptr);
  CHECK(memory.fact(2).text.size == 0);
  CHECK(answer.text_used == answer.reason_size + std::string("kernel_pageslayoutNHDempty").size());
}

TEST_CASE("a refusal carries its words and numbers") {
  const Paged layer;
  Memory memory;
  REQUIRE(odd().ask(refuses, layer, memory) == 0);
  CHECK(memory.answer()->verdict == KVEDIT_ANSWER_REFUSE);
  CHECK(memory.reason() == "TestSpec is mine, and 64 bytes are wrong");
  REQUIRE(memory.answer()->fact_count == 1);
  CHECK(memory.fact(0).number == 64);
}

TEST_CASE("nothing is written behind small buffers") {
  const Paged layer;
  for (std::uint64_t text = 0; text < 64; ++text)
    for (std::uint64_t facts = 0; facts < 4; ++facts) {
      Memory memory({2, text, facts});
      REQUIRE(odd().ask(talks, layer, memory) == 0);
      REQUIRE(memory.intact());
      const kvedit_answer& answer = *memory.answer();
      REQUIRE(answer.verdict == KVEDIT_ANSWER_MATCH);
      REQUIRE(answer.text_used <= text);
      REQUIRE(answer.fact_count <= facts);
      REQUIRE(std::string("größer als 64").compare(0, answer.reason_size, memory.reason()) == 0);
      // Never half a character: the two of "ö" and of "ß" stay together.
      REQUIRE((answer.reason_size != 3 && answer.reason_size != 5));
    }
}

TEST_CASE("a match that does not fit the host's boxes is an error, not half a match") {
  const Paged layer;
  for (std::uint64_t boxes = 0; boxes < 2; ++boxes) {
    Memory memory({boxes, 128, 4});
    REQUIRE(odd().ask(talks, layer, memory) == 0);
    CHECK(memory.intact());
    CHECK(memory.answer()->verdict == KVEDIT_ANSWER_ERROR);
    CHECK(memory.answer()->box_count == 0);
    CHECK(memory.reason() == "the match has more boxes than the host takes");
  }
}

TEST_CASE("boxes of an older host take what they can hold, of a newer host what is known") {
  const Paged layer;
  const std::uint64_t four_axes = offsetof(kvedit_box, axes) + 4 * sizeof(kvedit_axis);
  for (const std::uint64_t size : {four_axes, four_axes + 8, four_axes + 48,
                                   std::uint64_t{sizeof(kvedit_box)}, sizeof(kvedit_box) + 40}) {
    Memory memory({2, 128, 4, sizeof(kvedit_answer), size});
    REQUIRE(odd().ask(talks, layer, memory) == 0);
    CHECK(memory.intact());
    REQUIRE(memory.answer()->verdict == KVEDIT_ANSWER_MATCH);
    CHECK(memory.box(0).struct_size == std::min<std::uint64_t>(size, sizeof(kvedit_box)));
    CHECK(memory.box(1).axis_count == 4);
    CHECK(memory.box(1).axes[3].extent == 4);
  }
  Memory small({2, 128, 4, sizeof(kvedit_answer), four_axes - 8});
  REQUIRE(odd().ask(talks, layer, small) == 0);
  CHECK(small.intact());
  CHECK(small.answer()->verdict == KVEDIT_ANSWER_ERROR);
  CHECK(small.reason() == "a box has more axes than the host takes");
}

TEST_CASE("answers of an older host are filled as far as they go, of a newer one as far as known") {
  const Paged layer;
  for (std::uint64_t size = 16; size <= sizeof(kvedit_answer) + 64; size += 8) {
    Memory memory({2, 128, 4, size});
    REQUIRE(odd().ask(refuses, layer, memory) == 0);
    REQUIRE(memory.intact());
    REQUIRE(memory.answer()->struct_size == size);
    REQUIRE(memory.answer()->verdict == KVEDIT_ANSWER_REFUSE);
  }
  Memory without_facts({2, 128, 4, offsetof(kvedit_answer, facts)});
  REQUIRE(odd().ask(refuses, layer, without_facts) == 0);
  CHECK(without_facts.reason() == "TestSpec is mine, and 64 bytes are wrong");
}

TEST_CASE("the same question gets the same bytes") {
  const Paged layer;
  for (std::uint32_t rule = throws; rule <= no_such_rule; ++rule) {
    Memory first, second;
    REQUIRE(odd().ask(rule, layer, first) == odd().ask(rule, layer, second));
    CHECK(first.answer()->verdict == second.answer()->verdict);
    CHECK(first.reason() == second.reason());
    REQUIRE(first.answer()->box_count == second.answer()->box_count);
    for (std::uint64_t i = 0; i < first.answer()->box_count; ++i)
      CHECK(std::memcmp(&first.box(i), &second.box(i), sizeof(kvedit_box)) == 0);
  }
}
