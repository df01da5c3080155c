// Registrations may hold any number. No rule may crash, throw, overrun its memory or match with a
// box that leaves the page.
#include <array>
#include <catch2/catch.hpp>
#include <limits>
#include <random>
#include <string>

#include "opened_pack.hpp"

using namespace sdk_test;

namespace {

__extension__ using Wide = __int128;

class Draw {
 public:
  explicit Draw(std::uint32_t seed) : engine_(seed) {}

  std::int64_t below(std::int64_t limit) {
    return std::uniform_int_distribution<std::int64_t>(0, limit - 1)(engine_);
  }
  /// Mostly small, now and then one of the worst there are.
  std::int64_t number() {
    constexpr std::array<std::int64_t, 10> worst = {0,
                                                    -1,
                                                    1,
                                                    std::numeric_limits<std::int64_t>::max(),
                                                    std::numeric_limits<std::int64_t>::min(),
                                                    std::int64_t{1} << 32,
                                                    std::int64_t{1} << 62,
                                                    -(std::int64_t{1} << 40),
                                                    3,
                                                    4096};
    return below(4) == 0 ? worst[static_cast<std::size_t>(below(worst.size()))] : 1 + below(64);
  }

 private:
  std::mt19937 engine_;
};

void add_tensor(HandMade& made, Draw& draw) {
  std::vector<std::int64_t> extents(static_cast<std::size_t>(draw.below(10)));
  std::vector<std::int64_t> strides(extents.size());
  for (std::int64_t& extent : extents) extent = draw.number();
  // Byte strides straight away: HandMade would have to multiply.
  made.tensor(1, extents, strides, draw.number(), draw.below(5) != 0);
  kvedit_tensor& tensor = made.raw_tensor(made.raw().tensor_count - 1);
  tensor.item_bytes = static_cast<std::uint32_t>(1 + draw.below(8));
  auto* bytes = const_cast<std::int64_t*>(tensor.strides);
  for (std::uint64_t i = 0; i < tensor.rank; ++i) bytes[i] = draw.number();
}

/// Nothing fits anything.
void fill_wild(HandMade& made, Draw& draw) {
  made.tokens(draw.number(), draw.number());
  if (draw.below(3) == 0) made.unpadded(draw.number());
  if (draw.below(3) == 0) made.states(draw.number());
  if (draw.below(3) == 0) made.with("page_size_padded", draw.number());
  if (draw.below(2) == 0) made.with("num_kv_heads", draw.number());
  for (std::int64_t i = draw.below(4); i > 0; --i) add_tensor(made, draw);
}

/// A layout that some rule may claim, mostly with one number that is wrong.
void fill_nearly_right(HandMade& made, Draw& draw) {
  const std::int64_t blocks = 1 + draw.below(20), k = 1 + draw.below(4);
  const std::int64_t a = 1 + draw.below(3), b = 1 + draw.below(8), c = 1 + draw.below(8);
  const bool recurrent = made.raw().kind == KVEDIT_KIND_MAMBA;
  made.raw().num_blocks = blocks;
  made.raw().page_bytes = (recurrent ? 1 : k) * a * b * c * 2;
  made.tokens(k * b, k * b);
  const std::int64_t form = recurrent ? 3 : draw.below(4);
  if (form == 0)
    made.tensor(2, {a, blocks * k, b, c}, {blocks * k * b * c, b * c, c, 1});
  else if (form == 1)
    made.with("num_kv_heads", a)
        .tensor(2, {blocks, k, a, b, c}, {k * a * b * c, a * b * c, b * c, c, 1});
  else
    made.tensor(2, {recurrent ? blocks : blocks * k, a, b, c}, {a * b * c, b * c, c, 1});
  if (recurrent && draw.below(2) == 0) made.tensor(1, {blocks, c}, {a * b * c * 2, 1}, 0);
  const std::int64_t wrong = draw.below(16);
  kvedit_tensor& tensor = made.raw_tensor(0);
  if (wrong == 0) made.raw().page_bytes = draw.number();
  if (wrong == 1) made.raw().num_blocks = draw.number();
  if (wrong == 2) made.unpadded(draw.number());
  if (wrong == 3) made.states(draw.number());
  if (wrong == 4) made.with("page_size_padded", draw.number());
  if (wrong == 5) tensor.item_bytes = static_cast<std::uint32_t>(draw.number());
  if (wrong >= 6 && wrong < 10)
    const_cast<std::int64_t*>(tensor.extents)[wrong - 6] = draw.number();
  if (wrong >= 10 && wrong < 14)
    const_cast<std::int64_t*>(tensor.strides)[wrong - 10] = draw.number();
}

void ask(const OpenedPack& pack, const HandMade& made, int& matches) {
  Memory memory;
  REQUIRE(pack.ask(0, made, memory) == 0);
  REQUIRE(memory.intact());
  const kvedit_answer& answer = *memory.answer();
  if (answer.verdict == KVEDIT_ANSWER_ERROR) FAIL(memory.reason());
  REQUIRE(answer.reason_size > 0);
  if (answer.verdict != KVEDIT_ANSWER_MATCH) return;
  ++matches;
  const kvedit_box& box = memory.box(0);
  Wide bytes = box.item_bytes;
  for (std::uint32_t i = 0; i < box.axis_count; ++i) {
    REQUIRE(box.axes[i].extent >= 1);
    if (box.axes[i].role != KVEDIT_ROLE_BLOCK) bytes *= box.axes[i].extent;
  }
  REQUIRE(bytes >= 1);
  REQUIRE(bytes <= made.raw().page_bytes);
}

}  // namespace

TEST_CASE("rules answer whatever the registration holds") {
  const std::uint32_t seed = 20261130;
  INFO("seed " << seed);
  Draw draw(seed);
  const OpenedPack packs[] = {OpenedPack(KVEDIT_RULES_DIR "/kvedit.grouped-pages.so"),
                              OpenedPack(KVEDIT_RULES_DIR "/kvedit.kv-planes.so"),
                              OpenedPack(KVEDIT_RULES_DIR "/kvedit.mamba-page.so"),
                              OpenedPack(KVEDIT_RULES_DIR "/kvedit.mamba-row.so"),
                              OpenedPack(KVEDIT_RULES_DIR "/kvedit.subpaged-attention.so"),
                              OpenedPack(KVEDIT_RULES_DIR "/kvedit.subpaged-mla.so"),
                              OpenedPack(SDK_TEST_PACKS "/sdk_test.striped.so")};
  std::array<int, 7> matches{};
  for (int round = 0; round < 40000; ++round) {
    HandMade made(static_cast<std::uint32_t>(draw.below(11)), draw.number(), draw.number());
    if (draw.below(4) == 0) made.named("StripedAttentionSpec");
    if (draw.below(2) == 0)
      fill_wild(made, draw);
    else
      fill_nearly_right(made, draw);
    for (std::size_t i = 0; i < matches.size(); ++i) {
      INFO("round " << round << ", " << packs[i].descriptor().id);
      ask(packs[i], made, matches[i]);
    }
  }
  // Without a few of each the checks above would prove nothing.
  for (const int each : matches) CHECK(each > 100);
}
