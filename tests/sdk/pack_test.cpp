// Descriptors, handshake, extensions.
#include <catch2/catch.hpp>
#include <cstring>
#include <filesystem>
#include <kvedit/rule/text.hpp>
#include <string>

#include "opened_pack.hpp"

using namespace sdk_test;

namespace {

std::string refusal;

void take_refusal(const kvedit_rule_host*, kvedit_text reason) { refusal = text_of(reason); }

template <std::size_t N>
std::string field(const char (&chars)[N]) {
  CHECK(chars[N - 1] == '\0');
  for (std::size_t i = std::strlen(chars); i < N; ++i) CHECK(chars[i] == '\0');
  return chars;
}

}  // namespace

TEST_CASE("the descriptor says what the classes say") {
  const OpenedPack pack(SDK_TEST_PACKS "/sdk_test.odd.so");
  const kvedit_pack_descriptor& descriptor = pack.descriptor();
  CHECK(std::memcmp(descriptor.magic, KVEDIT_RULE_MAGIC, 16) == 0);
  CHECK(descriptor.header_size == sizeof(kvedit_pack_descriptor));
  CHECK(descriptor.rule_size == sizeof(kvedit_rule_descriptor));
  CHECK(descriptor.rule_count == 9);
  CHECK(descriptor.abi_major == KVEDIT_RULE_ABI_MAJOR);
  CHECK(descriptor.abi_minor == KVEDIT_RULE_ABI_MINOR);
  CHECK(descriptor.reserved == 0);
  CHECK(field(descriptor.id) == "odd.pack");
  CHECK(field(descriptor.version) == "1.2.3");
  CHECK(field(descriptor.vendor) == "Odd & Söhne");

  CHECK(field(pack.rule(0).id) == "odd.throws");
  CHECK(field(pack.rule(0).summary).empty());
  CHECK(pack.rule(0).tier == KVEDIT_TIER_VENDOR);
  CHECK(pack.rule(0).priority == 100);
  CHECK(pack.rule(1).tier == KVEDIT_TIER_FALLBACK);
  CHECK(pack.rule(1).priority == -7);
  CHECK(field(pack.rule(2).summary) == "wants a field");
  CHECK(field(pack.rule(8).id) == "odd.refuses");
  CHECK(pack.rule(8).reserved[0] == 0);
  CHECK(pack.rule(8).reserved[1] == 0);
}

TEST_CASE("the standard packs are of the standard tier and equal priority") {
  std::size_t packs = 0;
  for (const auto& file : std::filesystem::directory_iterator(KVEDIT_RULES_DIR)) {
    if (file.path().extension() != ".so") continue;
    ++packs;
    const std::string id = file.path().stem();
    INFO(id);
    const OpenedPack pack(file.path());
    CHECK(field(pack.descriptor().id) == id);
    CHECK(field(pack.descriptor().version) == "0.1.0");
    CHECK(field(pack.descriptor().vendor) == "kvedit");
    REQUIRE(pack.descriptor().rule_count == 1);
    CHECK(field(pack.rule(0).id) == id);
    CHECK_FALSE(field(pack.rule(0).summary).empty());
    CHECK(pack.rule(0).tier == KVEDIT_TIER_STANDARD);
    CHECK(pack.rule(0).priority == 100);
    CHECK(pack.table().extension(KVEDIT_VALIDATE_ID) == nullptr);
  }
  CHECK(packs >= 5);
}

TEST_CASE("another major is refused with both numbers, a newer minor is not") {
  const OpenedPack pack(SDK_TEST_PACKS "/sdk_test.odd.so");
  kvedit_rule_host host = plain_host();
  host.refuse = take_refusal;
  host.abi_minor = 99;
  CHECK(pack.entry()(&host) == &pack.table());
  host.abi_major = 2;
  refusal.clear();
  CHECK(pack.entry()(&host) == nullptr);
  CHECK(refusal == "the pack speaks rule ABI 1, the host 2");
  host.struct_size = offsetof(kvedit_rule_host, refuse);  // as if it could not be told
  refusal.clear();
  CHECK(pack.entry()(&host) == nullptr);
  CHECK(refusal.empty());
  CHECK(pack.entry()(nullptr) == nullptr);
}

TEST_CASE("a pack may bring a validator and no rule") {
  const OpenedPack pack(SDK_TEST_PACKS "/sdk_test.validator.so");
  CHECK(pack.descriptor().rule_count == 0);
  CHECK(pack.table().extension("kvedit.explain/1") == nullptr);
  CHECK(pack.table().extension(nullptr) == nullptr);
  const auto* const table =
      static_cast<const kvedit_validate_v1*>(pack.table().extension(KVEDIT_VALIDATE_ID));
  REQUIRE(table != nullptr);
  CHECK(table->struct_size == sizeof(kvedit_validate_v1));

  HandMade small(KVEDIT_KIND_FULL_ATTENTION, 4, 64), large(KVEDIT_KIND_FULL_ATTENTION, 4, 64);
  small.tokens(16, 16).with("most", 64);
  large.tokens(128, 128).with("most", 64);
  const kvedit_layer leaves[2] = {*small.get(), *large.get()};
  kvedit_group group = {sizeof(kvedit_group), leaves, 1, sizeof(kvedit_layer), 20};
  Memory fine;
  CHECK(table->validate(&group, fine.answer()) == 0);
  CHECK(fine.answer()->verdict == KVEDIT_ANSWER_NO_MATCH);
  CHECK(fine.answer()->reason_size == 0);
  group.leaf_count = 2;
  Memory refused;
  CHECK(table->validate(&group, refused.answer()) == 0);
  CHECK(refused.answer()->verdict == KVEDIT_ANSWER_REFUSE);
  CHECK(refused.reason() == "leaf 1 of 20 layers has blocks of 128 tokens");
  Memory nothing;
  CHECK(table->validate(nullptr, nothing.answer()) == 0);
  CHECK(nothing.answer()->verdict == KVEDIT_ANSWER_ERROR);
  Memory question;
  CHECK(pack.ask(0, small, question) == 0);
  CHECK(question.answer()->verdict == KVEDIT_ANSWER_ERROR);
}
