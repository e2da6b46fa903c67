// The tables of runtime/cpu/winograd/kernels.h as tests meet them: which this CPU can run, and their operands.
#pragma once

#include "runtime/machine/isa.h"
#include "runtime/cpu/ops/elements.h"
#include "runtime/cpu/ops/pixel_operation.h"
#include "runtime/cpu/winograd/kernels.h"
#include "tests/unit/runtime/cpu/guarded_buffer.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <ostream>
#include <random>

namespace sheaf::winograd {
namespace emulated {
extern const KernelTable narrow, split;  ///< v4_amx's, with tiles in plain C++ (emulated_kernels.cpp)
}

using test::Buffer, test::poison;
using Values = std::vector<float>;

/// What a table needs besides its level.
enum class Needs { nothing, bf16, tiles };

struct Subject {
  const char* name;
  const char* level;
  const KernelTable* table;
  bool bf16;  ///< activations and weights
  Needs needs = Needs::nothing;
};
inline void PrintTo(const Subject& subject, std::ostream* out) { *out << subject.name; }

inline const Subject subjects[] = {
    {"v3_f32", "x86-64-v3", &v3::f32, false},
    {"v3_bf16", "x86-64-v3", &v3::bf16, true},
    {"v4_f32", "x86-64-v4", &v4::f32, false},
    {"v4_bf16", "x86-64-v4", &v4::bf16, true},
    {"v4_bf16_gradients", "x86-64-v4", &v4_bf16::narrow, true, Needs::bf16},
    {"v4_amx_gradients", "x86-64-v4", &v4_amx::narrow, true, Needs::tiles},
    {"v4_amx_split", "x86-64-v4", &v4_amx::split, false, Needs::tiles},
    {"emulated_gradients", "x86-64-v4", &emulated::narrow, true, Needs::bf16},
    {"emulated_split", "x86-64-v4", &emulated::split, false, Needs::bf16},
};

inline float high_of(float value) { return float(BFloat16(value)); }

class WinogradTables : public testing::TestWithParam<Subject> {
 protected:
  void SetUp() override {
    const auto levels = supported_isa_levels();
    const Needs needs = GetParam().needs;
    if (std::find(levels.begin(), levels.end(), GetParam().level) == levels.end() || (needs == Needs::bf16 && !has_bf16()) ||
        (needs == Needs::tiles && !has_amx()))
      GTEST_SKIP() << "this CPU has other instructions";
  }

  /// `count` values, at an address that is a multiple only of a value's size.
  struct Stored {
    std::vector<char> bytes;
    Values values;
    size_t size;
    const void* at(int64_t index) const { return bytes.data() + size_t(index + 1) * size; }
  };
  Stored normal(int64_t count) const {
    std::normal_distribution<float> distribution;
    Values values(static_cast<size_t>(count));
    for (float& value : values) value = distribution(generator);
    return stored(values);
  }
  Stored stored(const Values& values) const {
    Stored stored{{}, values, GetParam().bf16 ? sizeof(BFloat16) : sizeof(float)};
    stored.bytes.resize((values.size() + 1) * stored.size);
    for (size_t i = 0; i < stored.values.size(); ++i) {
      float value = stored.values[i];
      const BFloat16 narrow(value);
      if (GetParam().bf16) value = float(narrow);
      std::memcpy(stored.bytes.data() + (i + 1) * stored.size, GetParam().bf16 ? static_cast<const void*>(&narrow) : &value,
                  stored.size);
      stored.values[i] = value;
    }
    return stored;
  }

  bool split() const { return kernels.depth_unit > kernels.pair; }

  /// Whole numbers, whose products and sums are exact. Many of split ones have a low part.
  Values whole(int64_t count) const {
    Values values(static_cast<size_t>(count));
    for (float& value : values) {
      value = float(int(generator() % 9) - 4);
      if (split() && generator() % 2) value += generator() % 2 ? 260 : -260;
    }
    return values;
  }
  /// What a product of two of them is.
  float product_of(float a, float b) const { return split() ? a * b - (a - high_of(a)) * (b - high_of(b)) : a * b; }

  /// Stores an operand's value number `k` along the depth, whose elements are `stride` apart.
  void put(float* first, int64_t stride, int64_t k, float value) const {
    if (kernels.pair == 1 && !split()) {
      first[k * stride] = value;
      return;
    }
    const auto narrow = [&](int64_t element, float part) {
      const BFloat16 bits(part);
      std::memcpy(reinterpret_cast<char*>(first + element * stride) + k % 2 * 2, &bits, sizeof(bits));
    };
    const int64_t pair = k / 2, unit = kernels.depth_unit;
    if (!split()) return narrow(pair, value);
    narrow(pair / (unit / 2) * unit + pair % (unit / 2), value);
    narrow(pair / (unit / 2) * unit + pair % (unit / 2) + unit / 2, value - high_of(value));
  }

  const KernelTable& kernels = *GetParam().table;
  mutable std::mt19937 generator{1};
};

}  // namespace sheaf::winograd
