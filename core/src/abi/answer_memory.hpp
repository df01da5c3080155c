#pragma once

#include <kvedit/rule_abi.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>

namespace kvedit {

/// What lies behind memory that a rule may fill, to see whether it kept within.
class Guard {
 public:
  Guard() { words_.fill(pattern); }
  bool unharmed() const {
    for (const std::uint64_t word : words_)
      if (word != pattern) return false;
    return true;
  }

 private:
  static constexpr std::uint64_t pattern = 0xA5C3'96E1'5A3C'691E;
  std::array<std::uint64_t, 8> words_;
};

/// The memory that one call of a rule fills; lives on the stack. Only what a rule may leave as it
/// is gets a value: clearing all of it would cost more than most rules.
class AnswerMemory {
 public:
  /// @param tensors  how many boxes the rule is expected to fill at most
  explicit AnswerMemory(std::uint64_t tensors);
  AnswerMemory(const AnswerMemory&) = delete;
  AnswerMemory& operator=(const AnswerMemory&) = delete;

  kvedit_answer& answer() { return answer_; }
  const kvedit_answer& answer() const { return answer_; }
  const char* text() const { return text_; }
  const kvedit_box& box(std::size_t index) const { return boxes_[index]; }
  const kvedit_fact& fact(std::size_t index) const { return facts_[index]; }

  /// What the rule changed that is not its to change, or empty.
  std::string damage() const;

 private:
  kvedit_answer answer_{};
  Guard behind_answer_;
  kvedit_box boxes_[KVEDIT_MAX_BOXES];
  Guard behind_boxes_;
  kvedit_fact facts_[KVEDIT_MAX_FACTS];
  Guard behind_facts_;
  char text_[KVEDIT_MAX_TEXT];
  Guard behind_text_;
};

}  // namespace kvedit
