#include "abi/answer_reader.hpp"

#include <optional>
#include <string>
#include <string_view>

#include "base/utf8.hpp"

namespace kvedit {
namespace {

static_assert(static_cast<std::uint32_t>(Role::block) == KVEDIT_ROLE_BLOCK);
static_assert(static_cast<std::uint32_t>(Role::kernel_page) == KVEDIT_ROLE_KERNEL_PAGE);
static_assert(static_cast<std::uint32_t>(Role::kv) == KVEDIT_ROLE_KV);
static_assert(static_cast<std::uint32_t>(Role::head) == KVEDIT_ROLE_HEAD);
static_assert(static_cast<std::uint32_t>(Role::token) == KVEDIT_ROLE_TOKEN);
static_assert(static_cast<std::uint32_t>(Role::content) == KVEDIT_ROLE_CONTENT);
static_assert(static_cast<std::uint32_t>(Verdict::no_match) == KVEDIT_ANSWER_NO_MATCH);
static_assert(static_cast<std::uint32_t>(Verdict::match) == KVEDIT_ANSWER_MATCH);
static_assert(static_cast<std::uint32_t>(Verdict::refuse) == KVEDIT_ANSWER_REFUSE);
static_assert(static_cast<std::uint32_t>(Verdict::error) == KVEDIT_ANSWER_ERROR);
static_assert(KVEDIT_MAX_AXES <= max_axes);

using Wrong = std::optional<std::string>;

template <class Integer>
std::string number(Integer value) {
  return std::to_string(value);
}

std::string too_many(std::uint64_t count, const char* what, std::uint64_t most) {
  return "gave " + number(count) + " " + what + "; " + number(most) + " is the most";
}

Wrong read_reason(const AnswerMemory& memory, std::string& out) {
  const kvedit_answer& answer = memory.answer();
  if (answer.text_used > KVEDIT_MAX_TEXT)
    return too_many(answer.text_used, "bytes of text", KVEDIT_MAX_TEXT);
  if (answer.reason_size > answer.text_used)
    return "gave a reason of " + number(answer.reason_size) + " bytes in " +
           number(answer.text_used) + " bytes of text";
  out.assign(memory.text(), answer.reason_size);
  if (!valid_utf8(out)) return "gave a reason that is not UTF-8";
  return std::nullopt;
}

Wrong check_numbers(const kvedit_answer& answer) {
  if (answer.verdict > KVEDIT_ANSWER_ERROR)
    return "gave the verdict " + number(answer.verdict) + "; 0 to 3 are known";
  if (answer.order_declared > 1)
    return "gave " + number(answer.order_declared) + " for order_declared, not 0 or 1";
  if (answer.box_count > KVEDIT_MAX_BOXES)
    return too_many(answer.box_count, "boxes", KVEDIT_MAX_BOXES);
  if (answer.fact_count > KVEDIT_MAX_FACTS)
    return too_many(answer.fact_count, "facts", KVEDIT_MAX_FACTS);
  return std::nullopt;
}

Wrong read_text(kvedit_text text, const char* what, std::uint64_t fact, std::string& out) {
  const auto called = [&] { return std::string(what) + " of fact " + number(fact); };
  if (text.size > KVEDIT_MAX_TEXT)
    return "gave " + called() + " of " + number(text.size) + " bytes; " + number(KVEDIT_MAX_TEXT) +
           " is the most";
  if (text.data == nullptr && text.size != 0)
    return "gave " + called() + " of " + number(text.size) + " bytes at no address";
  if (text.size != 0) out.assign(text.data, text.size);
  if (!valid_utf8(out)) return "gave " + called() + " that is not UTF-8";
  return std::nullopt;
}

Wrong read_facts(const AnswerMemory& memory, std::vector<Fact>& out) {
  out.reserve(memory.answer().fact_count);
  for (std::uint64_t i = 0; i < memory.answer().fact_count; ++i) {
    const kvedit_fact& fact = memory.fact(i);
    Fact& read = out.emplace_back();
    if (Wrong wrong = read_text(fact.name, "a name", i, read.name)) return wrong;
    if (read.name.empty()) return "gave fact " + number(i) + " no name";
    std::string text;
    if (Wrong wrong = read_text(fact.text, "a text", i, text)) return wrong;
    if (fact.text.data == nullptr)
      read.value = fact.number;
    else
      read.value = std::move(text);
  }
  return std::nullopt;
}

/// What is wrong with an axis, behind its name.
Wrong read_axis(const kvedit_axis& axis, Axes& out) {
  if (axis.role > KVEDIT_ROLE_CONTENT)
    return "the role " + number(axis.role) + "; 0 to 5 are known";
  if (axis.reserved != 0) return number(axis.reserved) + " for reserved, not 0";
  if (axis.extent <= 0) return "the extent " + number(axis.extent) + "; 1 is the least";
  out.push_back({axis.extent, axis.stride, static_cast<Role>(axis.role)});
  return std::nullopt;
}

Wrong check_box(const kvedit_box& box, std::uint64_t index, std::uint64_t tensors) {
  const auto gave = [&] { return "gave box " + number(index) + " "; };
  if (box.struct_size != sizeof(kvedit_box))
    return gave() + number(box.struct_size) + " bytes, not the " + number(sizeof(kvedit_box)) +
           " of the host";
  if (box.tensor >= tensors)
    return "started box " + number(index) + " from tensor " + number(box.tensor) + " of " +
           number(tensors);
  if (box.item_bytes <= 0)
    return gave() + "items of " + number(box.item_bytes) + " bytes; 1 is the least";
  if (box.axis_count == 0 || box.axis_count > KVEDIT_MAX_AXES)
    return gave() + number(box.axis_count) + " axes; 1 to " + number(KVEDIT_MAX_AXES) +
           " are allowed";
  return std::nullopt;
}

Wrong read_box(const kvedit_box& box, std::uint64_t index, std::uint64_t tensors, Box& out) {
  if (Wrong wrong = check_box(box, index, tensors)) return wrong;
  out.tensor = box.tensor;
  out.offset = box.offset;
  out.item_bytes = box.item_bytes;
  int blocks = 0, kernel_pages = 0;
  for (std::uint32_t i = 0; i < box.axis_count; ++i) {
    const kvedit_axis& axis = box.axes[i];
    if (Wrong wrong = read_axis(axis, out.axes))
      return "gave axis " + number(i) + " of box " + number(index) + " " + *wrong;
    blocks += axis.role == KVEDIT_ROLE_BLOCK;
    kernel_pages += axis.role == KVEDIT_ROLE_KERNEL_PAGE;
  }
  if (blocks != 1) return "gave box " + number(index) + " " + number(blocks) + " block axes, not 1";
  if (kernel_pages > 1)
    return "gave box " + number(index) + " " + number(kernel_pages) +
           " kernel_page axes; 1 is the most";
  return std::nullopt;
}

Wrong read_plan(const AnswerMemory& memory, std::uint64_t tensors, Plan& out) {
  const kvedit_answer& answer = memory.answer();
  if (answer.box_count == 0) return "gave a match without a box";
  out.declared = answer.order_declared == 1;
  out.boxes.resize(answer.box_count);
  for (std::uint64_t i = 0; i < answer.box_count; ++i)
    if (Wrong wrong = read_box(memory.box(i), i, tensors, out.boxes[i])) return wrong;
  return std::nullopt;
}

}  // namespace

Answer error_answer(std::string reason) {
  Answer answer;
  answer.verdict = Verdict::error;
  answer.reason = std::move(reason);
  return answer;
}

Answer read_answer(const AnswerMemory& memory, std::int32_t status, std::uint64_t tensors) {
  if (std::string damage = memory.damage(); !damage.empty()) return error_answer(std::move(damage));
  Answer answer;
  if (Wrong wrong = read_reason(memory, answer.reason)) return error_answer(*wrong);
  if (status != 0)
    return error_answer(answer.reason.empty()
                            ? std::string()
                            : "failed with status " + number(status) + ": " + answer.reason);
  if (Wrong wrong = check_numbers(memory.answer())) return error_answer(*wrong);
  answer.verdict = static_cast<Verdict>(memory.answer().verdict);
  if (Wrong wrong = read_facts(memory, answer.facts)) return error_answer(*wrong);
  if (answer.verdict == Verdict::match)
    if (Wrong wrong = read_plan(memory, tensors, answer.plan)) return error_answer(*wrong);
  return answer;
}

}  // namespace kvedit
