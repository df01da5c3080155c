// What the rules of opened packs say about layers made by hand.
#pragma once

#include <catch2/catch.hpp>
#include <map>
#include <string>
#include <vector>

#include "opened_pack.hpp"

namespace sdk_test {

inline const OpenedPack& standard_pack(const std::string& name) {
  static std::map<std::string, OpenedPack> opened;
  const auto found = opened.find(name);
  if (found != opened.end()) return found->second;
  return opened.emplace(name, OpenedPack(KVEDIT_RULES_DIR "/kvedit." + name + ".so")).first->second;
}

using Axes = std::vector<std::vector<std::int64_t>>;  // {extent, stride, role}

struct Said {
  std::uint32_t verdict = 0;
  bool declared = false;
  std::string reason;
  Axes axes;               // of the first box
  std::vector<Axes> more;  // of the others, which are of the next tensors
  std::int64_t offset = 0, item = 0;
};

inline Axes axes_of(const kvedit_box& box) {
  Axes axes;
  for (std::uint32_t i = 0; i < box.axis_count; ++i)
    axes.push_back({box.axes[i].extent, box.axes[i].stride, box.axes[i].role});
  return axes;
}

inline Said ask(const OpenedPack& from, const HandMade& layer) {
  Memory memory;
  REQUIRE(from.ask(0, layer, memory) == 0);
  REQUIRE(memory.intact());
  const kvedit_answer& answer = *memory.answer();
  Said said{answer.verdict, answer.order_declared == 1, memory.reason(), {}, {}, 0, 0};
  REQUIRE((answer.box_count > 0) == (answer.verdict == KVEDIT_ANSWER_MATCH));
  if (answer.box_count == 0) return said;
  said.axes = axes_of(memory.box(0));
  said.offset = memory.box(0).offset;
  said.item = memory.box(0).item_bytes;
  for (std::uint64_t i = 0; i < answer.box_count; ++i) REQUIRE(memory.box(i).tensor == i);
  for (std::uint64_t i = 1; i < answer.box_count; ++i) said.more.push_back(axes_of(memory.box(i)));
  return said;
}

inline void check_no_match(const Said& said, const std::string& reason) {
  CHECK(said.verdict == KVEDIT_ANSWER_NO_MATCH);
  CHECK(said.reason == reason);
}

constexpr std::int64_t block = KVEDIT_ROLE_BLOCK, page = KVEDIT_ROLE_KERNEL_PAGE,
                       kv = KVEDIT_ROLE_KV, head = KVEDIT_ROLE_HEAD, token = KVEDIT_ROLE_TOKEN,
                       content = KVEDIT_ROLE_CONTENT;

}  // namespace sdk_test
