// A file descriptor that is closed on every way out.
#pragma once

#include <unistd.h>
#include <utility>

namespace sheaf {

class Descriptor {
 public:
  explicit Descriptor(int number = -1) : number_(number) {}
  Descriptor(Descriptor&& other) noexcept : number_(std::exchange(other.number_, -1)) {}
  Descriptor& operator=(Descriptor&& other) noexcept {
    std::swap(number_, other.number_);
    return *this;
  }
  ~Descriptor() {
    if (number_ >= 0) ::close(number_);
  }

  int get() const { return number_; }
  bool open() const { return number_ >= 0; }
  /// What close(2) says: a file on a network may fail only here.
  int close() { return ::close(std::exchange(number_, -1)); }

 private:
  int number_;
};

}  // namespace sheaf
