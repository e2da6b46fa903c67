// Memory for a step's operands that reveals writes outside of it.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

namespace sheaf::test {

/// Guard bytes on both sides: an operation that writes outside its buffer is found.
class Buffer {
 public:
  explicit Buffer(size_t bytes, unsigned char fill) : bytes_(bytes), storage_(bytes + 3 * guard, fill) {}
  void* data() { return begin() + guard; }
  ~Buffer() {
    const unsigned char mark = storage_[0];
    for (size_t i = 0; i < guard; ++i) {
      EXPECT_EQ(begin()[i], mark) << "written before the buffer";
      EXPECT_EQ(begin()[guard + bytes_ + i], mark) << "written behind the buffer";
    }
  }

 private:
  static constexpr size_t guard = 64;
  unsigned char* begin() {
    const auto address = reinterpret_cast<uintptr_t>(storage_.data());
    return storage_.data() + (guard - address % guard) % guard;
  }
  size_t bytes_;
  std::vector<unsigned char> storage_;
};

inline constexpr unsigned char poison = 0xff;  // a float of these bytes is a NaN: unwritten elements show

}  // namespace sheaf::test
