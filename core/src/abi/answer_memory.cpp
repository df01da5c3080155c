#include "abi/answer_memory.hpp"

#include <algorithm>

namespace kvedit {

AnswerMemory::AnswerMemory(std::uint64_t tensors) {
  const std::size_t expected = std::clamp<std::uint64_t>(tensors, 1, KVEDIT_MAX_BOXES);
  std::fill_n(boxes_, expected, kvedit_box{});
  for (kvedit_box& box : boxes_) box.struct_size = sizeof box;
  answer_.struct_size = sizeof answer_;
  answer_.boxes = boxes_;
  answer_.box_stride = sizeof(kvedit_box);
  answer_.box_capacity = KVEDIT_MAX_BOXES;
  answer_.text = text_;
  answer_.text_capacity = KVEDIT_MAX_TEXT;
  answer_.facts = facts_;
  answer_.fact_capacity = KVEDIT_MAX_FACTS;
}

std::string AnswerMemory::damage() const {
  if (!behind_answer_.unharmed()) return "wrote behind the answer";
  if (!behind_boxes_.unharmed()) return "wrote behind the boxes";
  if (!behind_facts_.unharmed()) return "wrote behind the facts";
  if (!behind_text_.unharmed()) return "wrote behind the text";
  if (answer_.struct_size != sizeof answer_ || answer_.boxes != boxes_ ||
      answer_.box_stride != sizeof(kvedit_box) || answer_.box_capacity != KVEDIT_MAX_BOXES ||
      answer_.text != text_ || answer_.text_capacity != KVEDIT_MAX_TEXT ||
      answer_.facts != facts_ || answer_.fact_capacity != KVEDIT_MAX_FACTS)
    return "changed a size, capacity or address that the host gave it";
  return {};
}

}  // namespace kvedit
