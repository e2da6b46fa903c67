// Runs PTX written in a test on the emulator.
#pragma once

#include "tests/ptx/emulator.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstring>

namespace sheaf::ptx {

/// Memory that consists of the vectors it was given; each is where the host has it.
class VectorMemory final : public Memory {
 public:
  template <typename T>
  void add(std::vector<T>& values, bool writable = true) {
    ranges_.push_back({reinterpret_cast<uint64_t>(values.data()), values.size() * sizeof(T), writable});
  }
  void* access(uint64_t address, size_t bytes, bool writes) override {
    for (const Range& range : ranges_)
      if (address >= range.begin && address + bytes <= range.begin + range.bytes && (range.writable || !writes))
        return reinterpret_cast<void*>(address);
    return nullptr;
  }
  std::string explain(uint64_t, size_t, bool) override { return "in none of the test's buffers"; }

 private:
  struct Range {
    uint64_t begin;
    size_t bytes;
    bool writable;
  };
  std::vector<Range> ranges_;
};

inline const char* kHeader = ".version 8.0\n.target sm_80\n.address_size 64\n";

/// A module with one entry `k(x, y, n)`: its threads have their number in %i, x + i·size and y + i·size as
/// addresses in %x and %y, and n in %n. Registers %p<8>, %h<16> (16 bits), %r<32>, %f<16>, %d<16>, %q<16> (64 bits)
/// are there.
inline std::string entry(const std::string& body, int size = 4, const std::string& declarations = {}) {
  const std::string s = std::to_string(size);
  return std::string(kHeader) + declarations +
         ".visible .entry k(.param .u64 k_0, .param .u64 k_1, .param .u64 k_2) {\n"
         ".reg .pred %p<8>; .reg .b16 %h<16>; .reg .b32 %r<32>, %i, %t; .reg .f32 %f<16>; .reg .f64 %d<16>; .reg .b64 %q<16>;\n"
         ".reg .b64 %x, %y, %n;\n"
         "ld.param.u64 %x, [k_0]; ld.param.u64 %y, [k_1]; ld.param.u64 %n, [k_2];\n"
         "mov.u32 %i, %ctaid.x; mov.u32 %t, %ntid.x; mul.lo.s32 %i, %i, %t; mov.u32 %t, %tid.x; add.s32 %i, %i, %t;\n"
         "mad.wide.u32 %x, %i, " +
         s + ", %x; mad.wide.u32 %y, %i, " + s + ", %y;\n" + body + "\nret;\n}\n";
}

/// Launches entry `k` of `text` with x, y and n.
template <typename X, typename Y>
Result<LaunchCounts> launch(const std::string& text, std::vector<X>& x, std::vector<Y>& y, uint32_t threads,
                            uint32_t blocks = 1, uint64_t n = 0, const LaunchOptions& options = {}) {
  auto module = PtxModule::parse(text, "test.ptx");
  if (!module) return module.error();
  VectorMemory memory;
  memory.add(x);
  memory.add(y);
  const void *a = x.data(), *b = y.data();
  const void* arguments[] = {&a, &b, &n};
  return module->launch("k", {{blocks, 1, 1}, {threads, 1, 1}, 0}, arguments, memory, options);
}

/// y[i] = the result of `body` for x[i]: one thread per element.
template <typename Y, typename X>
std::vector<Y> map(const std::string& body, std::vector<X> x) {
  std::vector<Y> y(x.size());
  static_assert(sizeof(X) == sizeof(Y), "x and y step alike");
  auto done = launch(entry(body, sizeof(X)), x, y, static_cast<uint32_t>(x.size()));
  EXPECT_TRUE(done) << to_string(done.error());
  return y;
}

/// The message of a launch that must fail.
template <typename X, typename Y>
std::string failure(const std::string& text, std::vector<X>& x, std::vector<Y>& y, uint32_t threads, uint32_t blocks = 1,
                    const LaunchOptions& options = {}) {
  auto done = launch(text, x, y, threads, blocks, 0, options);
  if (done) return "it did not fail";
  return to_string(done.error());
}

inline uint32_t bits(float value) { return std::bit_cast<uint32_t>(value); }
inline float number(uint32_t bits) { return std::bit_cast<float>(bits); }
constexpr float kInf = INFINITY;
inline const float kNan = number(0x7fffffff);

}  // namespace sheaf::ptx
