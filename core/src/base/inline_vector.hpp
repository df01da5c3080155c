#pragma once

#include <array>
#include <cassert>
#include <cstddef>

namespace kvedit {

/// At most `N` values, without allocation.
template <class T, std::size_t N>
class InlineVector {
 public:
  static constexpr std::size_t capacity() { return N; }

  std::size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  bool full() const { return size_ == N; }

  void push_back(const T& value) {
    assert(size_ < N);
    values_[size_++] = value;
  }
  void insert(std::size_t at, const T& value) {
    assert(size_ < N && at <= size_);
    for (std::size_t i = size_++; i > at; --i) values_[i] = values_[i - 1];
    values_[at] = value;
  }
  void erase(std::size_t at) {
    assert(at < size_);
    for (--size_; at < size_; ++at) values_[at] = values_[at + 1];
  }
  void clear() { size_ = 0; }

  T& operator[](std::size_t i) { return values_[i]; }
  const T& operator[](std::size_t i) const { return values_[i]; }
  T* begin() { return values_.data(); }
  T* end() { return values_.data() + size_; }
  const T* begin() const { return values_.data(); }
  const T* end() const { return values_.data() + size_; }
  T& front() { return values_[0]; }
  T& back() { return values_[size_ - 1]; }
  const T& front() const { return values_[0]; }
  const T& back() const { return values_[size_ - 1]; }

  bool operator==(const InlineVector& other) const {
    if (size_ != other.size_) return false;
    for (std::size_t i = 0; i < size_; ++i)
      if (!(values_[i] == other.values_[i])) return false;
    return true;
  }

 private:
  std::array<T, N> values_{};
  std::size_t size_ = 0;
};

}  // namespace kvedit
