// Layers made by hand, as a host makes them, and guarded memory for answers.
#pragma once

#include <kvedit/rule_abi.h>

#include <cstdint>
#include <cstring>
#include <deque>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace sdk_test {

class HandMade {
 public:
  HandMade(std::uint32_t kind, std::int64_t blocks, std::int64_t page) {
    layer_.struct_size = sizeof layer_;
    layer_.kind = kind;
    layer_.num_blocks = blocks;
    layer_.page_bytes = page;
    layer_.block_size = 1;
    layer_.unpadded_page_bytes = KVEDIT_ABSENT;
    layer_.state_bytes = KVEDIT_ABSENT;
    layer_.slots = 1;
    layer_.placed_block_stride = KVEDIT_ABSENT;
    layer_.tensor_stride = sizeof(kvedit_tensor);
    named("TestSpec");
  }
  HandMade(const HandMade&) = delete;
  HandMade& operator=(const HandMade&) = delete;

  HandMade& named(std::string_view type, const std::vector<std::string>& bases = {}) {
    layer_.type = keep(type);
    bases_.clear();
    for (const std::string& base : bases) bases_.push_back(keep(base));
    layer_.bases = bases_.data();
    layer_.base_count = bases_.size();
    return *this;
  }
  HandMade& tokens(std::int64_t block_size, std::int64_t slots) {
    layer_.block_size = block_size;
    layer_.slots = slots;
    return *this;
  }
  HandMade& unpadded(std::int64_t bytes) {
    layer_.unpadded_page_bytes = bytes;
    return *this;
  }
  HandMade& placed(std::int64_t block_stride) {
    layer_.placed_block_stride = block_stride;
    return *this;
  }
  HandMade& states(std::int64_t bytes) {
    layer_.state_bytes = bytes;
    return *this;
  }
  HandMade& with(std::string_view name, std::int64_t value) {
    kvedit_value given{};
    given.kind = KVEDIT_VALUE_INTEGER;
    given.integer = value;
    return with(name, given);
  }
  HandMade& with(std::string_view name, const char* value) {
    kvedit_value given{};
    given.kind = KVEDIT_VALUE_TEXT;
    given.text = keep(value);
    return with(name, given);
  }
  HandMade& with(std::string_view name, const kvedit_value& value) {
    attributes_.push_back({keep(name), value});
    layer_.attributes = attributes_.data();
    layer_.attribute_count = attributes_.size();
    return *this;
  }
  /// @param strides elements  @param offset bytes from the first tensor
  HandMade& tensor(std::uint32_t item, std::vector<std::int64_t> extents,
                   std::vector<std::int64_t> strides, std::int64_t offset = 0, bool shares = true) {
    for (std::int64_t& stride : strides) stride *= item;
    numbers_.push_back(std::move(extents));
    const std::int64_t* extent = numbers_.back().data();
    const std::uint64_t rank = numbers_.back().size();
    numbers_.push_back(std::move(strides));
    tensors_.push_back({sizeof(kvedit_tensor), keep("some"), 4, item * 8, 1, item, rank, extent,
                        numbers_.back().data(), offset, shares ? 1U : 0U, 0});
    layer_.tensors = tensors_.data();
    layer_.tensor_count = tensors_.size();
    return *this;
  }

  kvedit_layer& raw() { return layer_; }
  const kvedit_layer& raw() const { return layer_; }
  kvedit_tensor& raw_tensor(std::size_t index) { return tensors_[index]; }
  const kvedit_layer* get() const { return &layer_; }
  kvedit_text keep(std::string_view text) {
    texts_.emplace_back(text);
    return {texts_.back().data(), texts_.back().size()};
  }

 private:
  kvedit_layer layer_{};
  std::deque<std::string> texts_;
  std::deque<std::vector<std::int64_t>> numbers_;
  std::vector<kvedit_text> bases_;
  std::vector<kvedit_attribute> attributes_;
  std::vector<kvedit_tensor> tensors_;
};

/// Memory that ends in bytes nobody may touch.
class Guarded {
 public:
  explicit Guarded(std::size_t bytes)
      : size_(bytes), memory_(new std::uint64_t[(bytes + 7) / 8 + 8]) {
    std::memset(memory_.get(), 0xA5, all());
  }
  template <class T>
  T* as() {
    return reinterpret_cast<T*>(memory_.get());
  }
  bool intact() const {
    const auto* bytes = reinterpret_cast<const unsigned char*>(memory_.get());
    for (std::size_t i = size_; i < all(); ++i)
      if (bytes[i] != 0xA5) return false;
    return true;
  }

 private:
  std::size_t all() const { return ((size_ + 7) / 8 + 8) * 8; }

  std::size_t size_;
  std::unique_ptr<std::uint64_t[]> memory_;
};

struct Capacities {
  std::uint64_t boxes = KVEDIT_MAX_BOXES;
  std::uint64_t text = KVEDIT_MAX_TEXT;
  std::uint64_t facts = KVEDIT_MAX_FACTS;
  std::uint64_t answer_size = sizeof(kvedit_answer);  // may be smaller or larger than the struct
  std::uint64_t box_size = sizeof(kvedit_box);
};

/// What a host gives a rule to fill.
class Memory {
 public:
  explicit Memory(const Capacities& sizes = {})
      : answer_(sizes.answer_size),
        boxes_(sizes.boxes * sizes.box_size),
        text_(sizes.text),
        facts_(sizes.facts * sizeof(kvedit_fact)),
        sizes_(sizes) {
    kvedit_answer out{};
    out.struct_size = sizes.answer_size;
    out.boxes = boxes_.as<kvedit_box>();
    out.box_stride = sizes.box_size;
    out.box_capacity = sizes.boxes;
    out.text = text_.as<char>();
    out.text_capacity = sizes.text;
    out.facts = facts_.as<kvedit_fact>();
    out.fact_capacity = sizes.facts;
    std::memcpy(answer_.as<void>(), &out,
                sizes.answer_size < sizeof out ? sizes.answer_size : sizeof out);
    for (std::uint64_t i = 0; i < sizes.boxes; ++i) box(i).struct_size = sizes.box_size;
  }

  kvedit_answer* answer() { return answer_.as<kvedit_answer>(); }
  kvedit_box& box(std::uint64_t index) {
    return *reinterpret_cast<kvedit_box*>(boxes_.as<char>() + index * sizes_.box_size);
  }
  const kvedit_fact& fact(std::size_t index) { return facts_.as<kvedit_fact>()[index]; }
  std::string reason() { return {text_.as<char>(), answer()->reason_size}; }
  bool intact() const {
    return answer_.intact() && boxes_.intact() && text_.intact() && facts_.intact();
  }

 private:
  Guarded answer_, boxes_, text_, facts_;
  Capacities sizes_;
};

inline std::string text_of(const kvedit_text& text) {
  return text.size == 0 ? std::string() : std::string(text.data, text.size);
}

}  // namespace sdk_test
