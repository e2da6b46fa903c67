// Randomly drawn sizes, tensors and attributes, the same for equal seeds.
#pragma once

#include <random>

#include "tests/unit/runtime/cpu/step_runner.h"

namespace sheaf::test {

/// A convolution's attributes and shapes: x, weight, y.
struct ConvCase {
  Json attributes;
  Dims x, weight, y;
};

class Draw {
 public:
  explicit Draw(uint32_t seed) : generator_(seed) {}
  int64_t number(int64_t low, int64_t high) { return low + int64_t(generator_() % uint64_t(high - low + 1)); }
  bool chance(int percent) { return number(1, 100) <= percent; }
  template <typename T>
  T one_of(std::initializer_list<T> list) {
    return list.begin()[number(0, int64_t(list.size()) - 1)];
  }
  Tensor tensor(Dims dims, double scale = 1) {
    Tensor result(std::move(dims));
    std::normal_distribution<float> normal(0, float(scale));
    for (float& value : result.data) value = normal(generator_);
    return result;
  }
  Dims numbers(size_t count, int64_t low, int64_t high) {
    Dims result(count);
    for (int64_t& value : result) value = number(low, high);
    return result;
  }
  Json activation() {
    const std::string kind =
        one_of<std::string>({"relu", "leaky_relu", "elu", "silu", "gelu", "gelu_tanh", "tanh", "sigmoid", "hardtanh"});
    Json result = {{"kind", kind}};
    if (kind == "leaky_relu") result["negative_slope"] = 0.2;
    if (kind == "elu") result["alpha"] = 0.7;
    if (kind == "hardtanh") {
      result["min_val"] = -0.5;
      result["max_val"] = 1.5;
    }
    return result;
  }
  int64_t batch() { return one_of<int64_t>({0, 1, 2, 5}); }
  int threads() { return int(number(1, 2)); }

 private:
  std::mt19937 generator_;
};

}  // namespace sheaf::test
