/// Carries an `Answer` over the boundary into the host's memory, never past what the host gave.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <exception>
#include <kvedit/rule/answer.hpp>
#include <kvedit/rule/spec.hpp>

#pragma GCC visibility push(hidden)
namespace kvedit::rule::detail {

class Reply {
 public:
  explicit Reply(kvedit_answer* out) noexcept : out_(out) {
    if (out != nullptr) take(host_, out);
  }

  /// Big enough to hold a verdict.
  bool usable() const noexcept { return out_ != nullptr && host_.struct_size >= 16; }

  void give(const Answer& answer) noexcept {
    host_.text_used = host_.reason_size = host_.fact_count = host_.box_count = 0;
    host_.verdict = static_cast<std::uint32_t>(answer.verdict());
    host_.order_declared = 0;
    if (answer.verdict() == Verdict::match && !give_boxes(answer)) return;
    host_.reason_size = put(answer.reason());
    give_facts(answer);
    std::memcpy(out_, &host_, size());
  }

  void give_error(const char* why) noexcept { give(Answer(Verdict::error).fail(why)); }

 private:
  static std::uint64_t least_of(std::uint64_t a, std::uint64_t b) noexcept { return a < b ? a : b; }
  std::size_t size() const noexcept {
    return static_cast<std::size_t>(least_of(host_.struct_size, sizeof host_) & ~std::uint64_t{7});
  }
  bool give_boxes(const Answer& answer) noexcept;
  void give_facts(const Answer& answer) noexcept;
  std::size_t put(std::string_view text) noexcept;

  kvedit_answer* out_;
  kvedit_answer host_ = {};
};

inline bool Reply::give_boxes(const Answer& answer) noexcept {
  if (host_.boxes == nullptr || answer.boxes() > host_.box_capacity) {
    give_error("the match has more boxes than the host takes");
    return false;
  }
  for (std::size_t i = 0; i < answer.boxes(); ++i) {
    auto* const there =
        reinterpret_cast<kvedit_box*>(reinterpret_cast<char*>(host_.boxes) + host_.box_stride * i);
    kvedit_box box = answer.box(i);
    const std::uint64_t room = host_.box_stride < sizeof box.struct_size
                                   ? 0
                                   : least_of(host_.box_stride, there->struct_size);
    if (room < offsetof(kvedit_box, axes) + box.axis_count * sizeof(kvedit_axis)) {
      give_error("a box has more axes than the host takes");
      return false;
    }
    box.struct_size = least_of(sizeof box, room & ~std::uint64_t{7});
    std::memcpy(there, &box, static_cast<std::size_t>(box.struct_size));
  }
  host_.box_count = answer.boxes();
  host_.order_declared = answer.order_declared() ? 1 : 0;
  return true;
}

inline std::size_t Reply::put(std::string_view text) noexcept {
  if (host_.text == nullptr || host_.text_used >= host_.text_capacity) return 0;
  const std::uint64_t room = host_.text_capacity - host_.text_used;
  const std::size_t fits =
      whole_characters(text, room < text.size() ? static_cast<std::size_t>(room) : text.size());
  if (fits > 0) std::memcpy(host_.text + host_.text_used, text.data(), fits);
  host_.text_used += fits;
  return fits;
}

// Facts that do not fit the host's buffers are left out whole: they explain, nothing rests on them.
inline void Reply::give_facts(const Answer& answer) noexcept {
  if (host_.facts == nullptr) return;
  std::string_view texts = answer.fact_texts();
  for (std::size_t i = 0; i < answer.facts() && i < host_.fact_capacity; ++i) {
    const Answer::Fact& fact = answer.fact(i);
    if (host_.text == nullptr ||
        fact.name_size + fact.text_size > host_.text_capacity - host_.text_used)
      return;
    const char* const name = host_.text + host_.text_used;
    put(texts.substr(0, fact.name_size + fact.text_size));
    texts.remove_prefix(fact.name_size + fact.text_size);
    const char* const text = fact.is_text ? name + fact.name_size : nullptr;
    host_.facts[i] = {{name, fact.name_size}, {text, fact.text_size}, fact.number};
    host_.fact_count = i + 1;
  }
}

/// Runs `body` and gives its answer; whatever it throws becomes an answer too. The result is that
/// of the boundary's functions: 0, or 1 when `out` cannot hold an answer.
template <class Body>
std::int32_t answer_with(kvedit_answer* out, Body body) noexcept {
  Reply reply(out);
  if (!reply.usable()) return 1;
  try {
    reply.give(body());
  } catch (const MissingField& missing) {
    Answer answer(Verdict::no_match);
    answer.text().append(missing.what());
    reply.give(answer);
  } catch (const std::exception& failure) {
    reply.give_error(failure.what());
  } catch (...) {
    reply.give_error("the rule threw something that is no std::exception");
  }
  return 0;
}

}  // namespace kvedit::rule::detail
#pragma GCC visibility pop
