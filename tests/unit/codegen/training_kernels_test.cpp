// Pads, gradients of embeddings and counts against plain loops.
#include "tests/unit/codegen/loaded_kernels.h"

#include <limits>
#include <numeric>

namespace sheaf::kernels {
namespace {

TEST(Pad, AlongEachDimensionAndForEachWidth) {
  LoadedKernels kernels;
  struct Case {
    Shape shape;
    std::vector<size_t> sizes;  ///< with batch = 5
    int64_t dim;
    Extent begin, size;
    size_t first, count;
    DType dtype = DType::float32;
    bool by_vectors = false;  ///< on a GPU
    KernelUse use = {};
  };
  std::vector<Case> cases{{{batch(), 9, 6}, {5, 9, 6}, 1, 2, 3, 2, 3},
                          {{batch(), 9, 6}, {5, 9, 6}, -1, 0, 4, 0, 4},
                          {{batch(), 9, 6}, {5, 9, 6}, 0, 1, batch() + Extent(-2), 1, 3},
                          {{4, batch() * 2}, {4, 10}, 1, batch(), batch(), 5, 5},
                          {{100}, {100}, 0, 40, 0, 40, 0, DType::float32, true},
                          {{100}, {100}, 0, 0, 100, 0, 100, DType::float32, true},
                          {{3, 0, 2}, {3, 0, 2}, 1, 0, 0, 0, 0},
                          {{batch(), 9}, {5, 9}, 1, 3, 4, 3, 4, DType::int64},
                          {{batch(), 9}, {5, 9}, 1, 3, 4, 3, 4, DType::bfloat16},
                          {{batch(), 9}, {5, 9}, 1, 3, 4, 3, 4, DType::uint8},
                          {{batch(), 12, 8}, {5, 12, 8}, 1, 3, 4, 3, 4, DType::float32, true},
                          {{192, 4}, {192, 4}, 0, 64, 64, 64, 64, DType::float32, true},
                          {{batch(), 9, 2}, {5, 9, 2}, 1, 3, 4, 3, 4, DType::int64, true},
                          {{batch() * 8, 3}, {40, 3}, 0, batch() * 8 + Extent(-16), 16, 24, 16, DType::bfloat16, true},
                          {{batch(), 64}, {5, 64}, 1, 16, 32, 16, 32, DType::uint8, true}};
  for (Case& c : cases) {
    auto use = kernels.module.add_pad(
        {.description = {}, .dtype = c.dtype, .shape = c.shape, .dim = c.dim, .begin = c.begin, .size = c.size});
    ASSERT_TRUE(use) << to_string(use.error());
    const int64_t five = 5,
                  elements =
                      static_cast<int64_t>(std::accumulate(c.sizes.begin(), c.sizes.end(), size_t{1}, std::multiplies<>()));
    const int64_t width = c.by_vectors ? 16 / static_cast<int64_t>(size_of(c.dtype)) : 1;
    EXPECT_EQ(*evaluate(use->gpu_work, [&](const std::string&) { return &five; }), elements / width) << c.sizes[0];
    c.use = *use;
  }
  EXPECT_FALSE(kernels.module.add_pad({.description = {}, .shape = {3, 4}, .dim = 2, .begin = {}, .size = {}}));
  ASSERT_NO_FATAL_FAILURE(kernels.load());
  auto check = [&](auto type, const Case& c) {
    using T = decltype(type);
    size_t d = size_t(c.dim < 0 ? c.dim + int64_t(c.sizes.size()) : c.dim), outer = 1, inner = 1;
    for (size_t i = 0; i < d; ++i) outer *= c.sizes[i];
    for (size_t i = d + 1; i < c.sizes.size(); ++i) inner *= c.sizes[i];
    std::vector<T> x(outer * c.count * inner + 1), expected(outer * c.sizes[d] * inner + 1);
    std::vector<T> y(expected.size(), 77);
    for (size_t i = 0; i < x.size(); ++i) x[i] = static_cast<T>(i + 3);
    for (size_t o = 0; o < outer; ++o)
      for (size_t i = 0; i < c.count * inner; ++i)
        expected[(o * c.sizes[d] + c.first) * inner + i] = x[o * c.count * inner + i];
    expected.back() = 77;
    for (int parts : {1, 3})
      kernels.run(c.use, {x.data(), y.data()}, {{"batch", 5}}, parts, [&] {
        ASSERT_EQ(y, expected);
        std::fill(y.begin(), y.end(), T{77});
      });
  };
  for (size_t k = 0; k < cases.size(); ++k) {
    SCOPED_TRACE("case " + std::to_string(k));
    if (size_of(cases[k].dtype) == 8) check(int64_t{}, cases[k]);
    if (size_of(cases[k].dtype) == 4) check(float{}, cases[k]);
    if (size_of(cases[k].dtype) == 2) check(uint16_t{}, cases[k]);
    if (size_of(cases[k].dtype) == 1) check(uint8_t{}, cases[k]);
  }
}

TEST(EmbeddingBackward, AddsRowsInOrderWithoutPaddingAndIndicesOutOfRange) {
  LoadedKernels kernels;
  EmbeddingBackwardSpec spec;
  spec.index_shape = {batch(), 5};
  spec.entries = 11;
  spec.width = 37;
  auto plain = kernels.module.add_embedding_backward(spec);
  spec.padding_idx = 4;
  auto padded = kernels.module.add_embedding_backward(spec);
  spec.index = DType::int32;
  auto narrow = kernels.module.add_embedding_backward(spec);
  ASSERT_TRUE(plain && padded && narrow);
  EXPECT_EQ(plain->work, Extent(37));
  EXPECT_GE(plain->grain, 16);
  ASSERT_NO_FATAL_FAILURE(kernels.load());
  constexpr size_t rows = 400, width = 37;
  std::vector<int64_t> index(rows);
  for (size_t i = 0; i < rows; ++i) index[i] = int64_t(i * i % 10);
  index[7] = 11, index[8] = -1, index[9] = INT64_MAX, index[10] = INT64_MIN;
  std::vector<int32_t> narrow_index(index.begin(), index.end());  // the last two become -1 and 0
  auto dy = random_values(rows * width, 1, 1000);
  auto expected = [&](auto& from, int64_t padding) {
    std::vector<float> sum(11 * width, 0.f);
    for (size_t i = 0; i < rows; ++i)
      if (from[i] >= 0 && from[i] < 11 && from[i] != padding)
        for (size_t j = 0; j < width; ++j) sum[size_t(from[i]) * width + j] += dy[i * width + j];
    return sum;
  };
  std::vector<float> dweight(11 * width + 1, 77);
  auto check = [&](const KernelUse& use, auto& from, int64_t padding) {
    auto sum = expected(from, padding);
    sum.push_back(77);
    for (int parts : {1, 2, 5})
      kernels.run(use, {from.data(), dy.data(), dweight.data()}, {{"batch", rows / 5}}, parts, [&] {
        ASSERT_EQ(dweight, sum);  // to the bit
        std::fill(dweight.begin(), dweight.end(), 77.f);
      });
  };
  check(*plain, index, -1);
  check(*padded, index, 4);
  check(*narrow, narrow_index, 4);
}

TEST(InverseCount, OfStaticAndRuntimeSizes) {
  LoadedKernels kernels;
  auto some = kernels.module.add_inverse_count({.description = {}, .shape = {batch(), Extent::symbol("chunk"), 3}});
  auto none = kernels.module.add_inverse_count({.description = {}, .shape = {}});
  ASSERT_TRUE(some && none);
  ASSERT_NO_FATAL_FAILURE(kernels.load());
  float y = 0;
  kernels.run(*some, {&y}, {{"batch", 1 << 20}, {"chunk", 1 << 15}}, 1,
              [&] { ASSERT_EQ(y, static_cast<float>(1.0 / (3.0 * (int64_t{1} << 35)))); });
  kernels.run(*some, {&y}, {{"batch", 0}, {"chunk", 7}}, 1, [&] { ASSERT_EQ(y, std::numeric_limits<float>::infinity()); });
  kernels.run(*none, {&y}, {}, 1, [&] { ASSERT_EQ(y, 1); });
}

}  // namespace
}  // namespace sheaf::kernels
