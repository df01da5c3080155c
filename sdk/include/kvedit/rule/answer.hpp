/// What a rule says about a layer.
#pragma once

#include <cstddef>
#include <cstdint>
#include <kvedit/rule/box.hpp>
#include <string_view>
#include <utility>

#pragma GCC visibility push(hidden)
namespace kvedit::rule {

/// Made by `match`, `no_match`, `refuse` and `accept`. Holds everything in place.
class Answer {
 public:
  /// Reasons beyond this many bytes are cut; the host takes up to `KVEDIT_MAX_TEXT` in all.
  using LongText = Text<1536>;

  struct Fact {
    std::size_t name_size = 0;  ///< names and texts follow each other in `fact_texts`
    std::size_t text_size = 0;
    std::int64_t number = 0;
    bool is_text = false;
  };

  explicit Answer(Verdict verdict) noexcept : verdict_(verdict) {}
  Answer(const Answer& other) noexcept { copy(other); }
  Answer& operator=(const Answer& other) noexcept {
    if (this != &other) copy(other);
    return *this;
  }
  ~Answer() = default;

  Verdict verdict() const noexcept { return verdict_; }
  std::string_view reason() const noexcept { return reason_.view(); }
  bool order_declared() const noexcept { return declared_; }
  std::size_t boxes() const noexcept { return box_count_; }
  const kvedit_box& box(std::size_t index) const noexcept { return boxes_[index]; }
  std::size_t facts() const noexcept { return fact_count_; }
  const Fact& fact(std::size_t index) const noexcept { return facts_[index]; }
  std::string_view fact_texts() const noexcept { return fact_texts_.view(); }

  /// Another tensor of the layer and how it is read.
  Answer& with(const Box& box) noexcept;
  /// A name with a number or a text, for programs.
  Answer& fact(std::string_view name, std::int64_t number) noexcept;
  Answer& fact(std::string_view name, std::string_view text) noexcept;
  /// Marks the order of the bytes as the rule's word.
  Answer& declared() noexcept {
    declared_ = true;
    return *this;
  }
  /// The rule itself is wrong; everything said so far no longer counts.
  Answer& fail(std::string_view why) noexcept {
    verdict_ = Verdict::error;
    reason_ = LongText().append(why);
    box_count_ = fact_count_ = 0;
    return *this;
  }

  LongText& text() noexcept { return reason_; }

 private:
  void copy(const Answer& other) noexcept;
  bool room_for_fact(std::string_view name, std::string_view text) noexcept;

  Verdict verdict_;
  bool declared_ = false;
  std::size_t box_count_ = 0;
  std::size_t fact_count_ = 0;
  LongText reason_;
  LongText fact_texts_;
  // Only the first `box_count_` and `fact_count_` are ever read.
  kvedit_box boxes_[KVEDIT_MAX_BOXES];
  Fact facts_[KVEDIT_MAX_FACTS];
};

inline void Answer::copy(const Answer& other) noexcept {
  verdict_ = other.verdict_;
  declared_ = other.declared_;
  box_count_ = other.box_count_;
  fact_count_ = other.fact_count_;
  reason_ = other.reason_;
  fact_texts_ = other.fact_texts_;
  for (std::size_t i = 0; i < box_count_; ++i) boxes_[i] = other.boxes_[i];
  for (std::size_t i = 0; i < fact_count_; ++i) facts_[i] = other.facts_[i];
}

inline Answer& Answer::with(const Box& box) noexcept {
  if (verdict_ == Verdict::error) return *this;
  if (!box) return fail(box.why().view());
  if (box_count_ == KVEDIT_MAX_BOXES) return fail("more boxes than an answer can have");
  kvedit_box& out = boxes_[box_count_++];
  out = {};
  out.struct_size = sizeof out;
  out.tensor = static_cast<std::uint32_t>(box.tensor());
  out.axis_count = static_cast<std::uint32_t>(box.rank());
  out.offset = box.offset();
  out.item_bytes = box.item_bytes();
  for (std::size_t at = 0; at < box.rank(); ++at) {
    const Axis& axis = box.axis(at);
    out.axes[at] = {axis.extent, axis.stride, static_cast<std::uint32_t>(axis.role), 0};
  }
  declared_ = declared_ || box.order_declared();
  return *this;
}

inline bool Answer::room_for_fact(std::string_view name, std::string_view text) noexcept {
  if (verdict_ == Verdict::error) return false;
  if (fact_count_ == KVEDIT_MAX_FACTS) {
    fail("more facts than an answer can have");
    return false;
  }
  fact_texts_.append(name).append(text);
  if (fact_texts_.cut()) fail("the texts of the facts are too long");
  return !fact_texts_.cut();
}

inline Answer& Answer::fact(std::string_view name, std::int64_t number) noexcept {
  if (room_for_fact(name, {})) facts_[fact_count_++] = {name.size(), 0, number, false};
  return *this;
}

inline Answer& Answer::fact(std::string_view name, std::string_view text) noexcept {
  if (room_for_fact(name, text)) facts_[fact_count_++] = {name.size(), text.size(), 0, true};
  return *this;
}

/// Not for this rule; says which number or word was in the way.
template <class... Args>
Answer no_match(Format<sizeof...(Args)> format, const Args&... args) {
  Answer out(Verdict::no_match);
  format_to(out.text(), format, args...);
  return out;
}
inline Answer no_match(const Reason& why) noexcept {
  Answer out(Verdict::no_match);
  out.text().append(why.view());
  return out;
}

/// It is for this rule, and it is wrong: the run fails with this text.
template <class... Args>
Answer refuse(Format<sizeof...(Args)> format, const Args&... args) {
  Answer out(Verdict::refuse);
  format_to(out.text(), format, args...);
  return out;
}
inline Answer refuse(const Reason& why) noexcept {
  Answer out(Verdict::refuse);
  out.text().append(why.view());
  return out;
}

/// The layer is read like this; the host proves it.
template <class... Args>
Answer match(const Box& box, Format<sizeof...(Args)> format, const Args&... args) {
  Answer out(Verdict::match);
  format_to(out.text(), format, args...);
  out.with(box);
  return out;
}
inline Answer match(const Box& box) {
  if (!box) return Answer(Verdict::match).with(box);
  const std::size_t at = box.find(Role::block);
  return match(box, "axis {} carries the blocks, {} entries of {} bytes", at, box.axis(at).extent,
               box.block_bytes());
}

/// A validator has nothing against the group.
inline Answer accept() noexcept { return Answer(Verdict::no_match); }

}  // namespace kvedit::rule
#pragma GCC visibility pop
