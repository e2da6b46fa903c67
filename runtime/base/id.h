// Positions in lists, with a separate type for each kind of list, so that a tensor's number can't be used as a lane's.
#pragma once

#include <compare>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <string>
#include <utility>
#include <vector>

namespace sheaf {

/// The position of an element in a list of `Of` (a type that need not be complete), or none.
template <typename Of>
class Id {
 public:
  constexpr Id() = default;  ///< none
  /// Negative numbers are none.
  template <std::integral Number>
  constexpr explicit Id(Number number) : number_(static_cast<int32_t>(number)) {}

  constexpr explicit operator bool() const { return number_ >= 0; }
  constexpr size_t index() const { return static_cast<size_t>(number_); }
  /// As in plain data: -1 is none.
  constexpr int number() const { return number_; }
  auto operator<=>(const Id&) const = default;

 private:
  int32_t number_ = -1;
};

template <typename Of>
std::string to_string(Id<Of> id) {
  return std::to_string(id.number());
}

/// The positions 0, …, size() - 1 in turn.
template <typename Key>
class IdRange {
 public:
  explicit constexpr IdRange(size_t size) : size_(size) {}
  class Iterator {
   public:
    using iterator_category = std::input_iterator_tag;
    using value_type = Key;
    using difference_type = std::ptrdiff_t;
    using pointer = const Key*;
    using reference = Key;

    explicit constexpr Iterator(size_t at) : at_(at) {}
    constexpr Key operator*() const { return Key(at_); }
    constexpr Iterator& operator++() {
      ++at_;
      return *this;
    }
    bool operator==(const Iterator&) const = default;

   private:
    size_t at_;
  };
  constexpr Iterator begin() const { return Iterator(0); }
  constexpr Iterator end() const { return Iterator(size_); }
  constexpr size_t size() const { return size_; }

 private:
  size_t size_;
};

/// A vector whose elements have positions of type `Key`.
template <typename Key, typename T>
class IdVector : public std::vector<T> {
 public:
  using Plain = std::vector<T>;
  using Plain::Plain;
  typename Plain::reference operator[](Key key) { return Plain::operator[](key.index()); }
  typename Plain::const_reference operator[](Key key) const { return Plain::operator[](key.index()); }
  /// The position that the next add() returns.
  Key next() const { return Key(this->size()); }
  Key add(T element) {
    this->push_back(std::move(element));
    return Key(this->size() - 1);
  }
  IdRange<Key> ids() const { return IdRange<Key>(this->size()); }
};

}  // namespace sheaf
