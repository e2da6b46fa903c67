#include "tools/estimate/kernel_rate.h"

#include "runtime/machine/isa.h"
#include "runtime/machine/thread_pool.h"
#include "runtime/plan/kernel_instructions.h"
#include "tools/estimate/stopwatch.h"

#include <bit>
#include <cmath>
#include <cstdint>
#include <vector>

namespace sheaf {
namespace {

/// As generated kernels compute it: a power of two times a polynomial.
[[gnu::always_inline]] inline float exponential(float x) {
  const float power = x * 1.44269504F, whole = std::nearbyint(power), part = power - whole;
  float sum = 1.33952e-3F;
  for (const float factor : {9.61844e-3F, 5.550332e-2F, 2.4022652e-1F, 6.9314718e-1F, 1.0F}) sum = sum * part + factor;
  return sum * std::bit_cast<float>((static_cast<int32_t>(whole) + 127) << 23);
}

constexpr int64_t kColumns = 512, kLanes = 16;

/// Reductions have a partial result for each lane of a vector.
[[gnu::always_inline]] inline void softmax_rows(const float* x, float* y, int64_t rows) {
  for (int64_t row = 0; row < rows; ++row, x += kColumns, y += kColumns) {
    float most[kLanes], sum[kLanes] = {};
    for (int64_t lane = 0; lane < kLanes; ++lane) most[lane] = x[lane];
    for (int64_t i = kLanes; i < kColumns; i += kLanes)
      for (int64_t lane = 0; lane < kLanes; ++lane) most[lane] = x[i + lane] > most[lane] ? x[i + lane] : most[lane];
    for (int64_t lane = 1; lane < kLanes; ++lane) most[0] = most[lane] > most[0] ? most[lane] : most[0];
    const float top = most[0];
    for (int64_t i = 0; i < kColumns; ++i) y[i] = exponential(x[i] - top);
    for (int64_t i = 0; i < kColumns; i += kLanes)
      for (int64_t lane = 0; lane < kLanes; ++lane) sum[lane] += y[i + lane];
    for (int64_t lane = 1; lane < kLanes; ++lane) sum[0] += sum[lane];
    const float scale = 1 / sum[0];
    for (int64_t i = 0; i < kColumns; ++i) y[i] *= scale;
  }
}

using Loop = decltype(&softmax_rows);

/// For this machine's CPU.
Loop softmax_loop() {
#if defined(__x86_64__)
  if (has_avx512())
    return [](const float* x, float* y, int64_t rows)
               __attribute__((target("avx512f,avx512dq,fma"))) { softmax_rows(x, y, rows); };
  if (has_avx2())
    return [](const float* x, float* y, int64_t rows) __attribute__((target("avx2,fma"))) { softmax_rows(x, y, rows); };
#endif
  return [](const float* x, float* y, int64_t rows) { softmax_rows(x, y, rows); };
}

}  // namespace

double kernel_rate(int threads) {
  constexpr int64_t kRows = 4;  // of a thread: they stay in its first cache
  // Of an element: a maximum, a subtraction, an exponential, an addition, a product.
  constexpr double kInstructions = 4 + kExponentialInstructions;
  std::vector<float> x(size_t(kRows * kColumns * threads), 0.5F), y(x.size());
  const Loop loop = softmax_loop();
  const TeamSize team(threads);
  const double once = least_seconds([&] {
    parallel_for(kRows * threads, kRows, threads, [&](int64_t begin, int64_t end) {
      loop(x.data() + begin * kColumns, y.data() + begin * kColumns, end - begin);
    });
  });
  return kInstructions * double(x.size()) / once;
}

}  // namespace sheaf
