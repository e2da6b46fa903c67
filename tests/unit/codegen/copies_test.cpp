// Copies (permute, slice, select, concat) and embedding against plain loops.
#include "tests/unit/codegen/loaded_kernels.h"

#include <cstdlib>
#include <numeric>

namespace sheaf::kernels {
namespace {

using Dims = std::vector<int64_t>;

/// A shape whose dimension `dynamic` (if not negative) is "batch".
Shape shape_of(const Dims& dims, int dynamic) {
  Shape shape(dims.begin(), dims.end());
  if (dynamic >= 0) shape[static_cast<size_t>(dynamic)] = batch();
  return shape;
}
int64_t count_of(const Dims& dims) { return std::accumulate(dims.begin(), dims.end(), int64_t{1}, std::multiplies<>()); }

template <typename T>
std::vector<T> iota(int64_t count) {
  std::vector<T> values(static_cast<size_t>(count));
  for (size_t i = 0; i < values.size(); ++i) values[i] = static_cast<T>(i * 7 + 3);
  return values;
}

template <typename T>
std::vector<T> permuted(const std::vector<T>& x, const Dims& dims, const Dims& order) {
  std::vector<T> y(x.size());
  for (size_t flat = 0; flat < x.size(); ++flat) {
    Dims index(dims.size());
    size_t rest = flat;
    for (size_t d = dims.size(); d-- > 0;) {
      index[d] = static_cast<int64_t>(rest % size_t(dims[d]));
      rest /= size_t(dims[d]);
    }
    size_t to = 0;
    for (int64_t d : order) to = to * size_t(dims[size_t(d)]) + size_t(index[size_t(d)]);
    y[to] = x[flat];
  }
  return y;
}

TEST(Copy, PermutationsOfEachWidth) {
  struct Case {
    Dims dims, order;
    int dynamic;
    DType dtype = DType::float32;
  };
  std::vector<Case> cases{{{37, 50}, {1, 0}, 0},
                          {{37, 50}, {1, 0}, 1},
                          {{3, 5, 40, 33}, {0, 2, 3, 1}, 0},
                          {{3, 40, 33, 5}, {0, 3, 1, 2}, 0},
                          {{2, 9, 4, 16}, {0, 2, 1, 3}, 0},
                          {{2, 3, 4, 5}, {3, 2, 1, 0}, 1},
                          {{2, 3, 4, 5}, {1, 0, 3, 2}, 2},
                          {{6, 7}, {0, 1}, 0},
                          {{1, 7, 1}, {2, 1, 0}, -1},
                          {{0, 7}, {1, 0}, 0},
                          {{37, 50}, {1, 0}, 0, DType::int64},
                          {{5, 3, 70}, {2, 0, 1}, 0, DType::uint8},
                          {{5, 3, 70}, {2, 0, 1}, 0, DType::bfloat16}};
  LoadedKernels kernels;
  std::vector<KernelUse> uses;
  for (const Case& c : cases) {
    auto spec = permute_copy(c.dtype, shape_of(c.dims, c.dynamic), c.order);
    ASSERT_TRUE(spec) << to_string(spec.error());
    auto use = kernels.module.add_copy(*spec);
    ASSERT_TRUE(use) << to_string(use.error());
    uses.push_back(*use);
  }
  ASSERT_NO_FATAL_FAILURE(kernels.load());
  auto check = [&](auto type, size_t k) {
    using T = decltype(type);
    const Case& c = cases[k];
    auto x = iota<T>(count_of(c.dims));
    auto expected = permuted(x, c.dims, c.order);
    std::map<std::string, int64_t> sizes;
    if (c.dynamic >= 0) sizes["batch"] = c.dims[size_t(c.dynamic)];
    for (int parts : {1, 3}) {
      std::vector<T> y(x.size());
      kernels.run(uses[k], {x.data(), y.data()}, sizes, parts, [&] {
        ASSERT_EQ(y, expected) << "case " << k;
        std::fill(y.begin(), y.end(), T{});
      });
    }
  };
  for (size_t k = 0; k < cases.size(); ++k) {
    if (size_of(cases[k].dtype) == 8) check(int64_t{}, k);
    if (size_of(cases[k].dtype) == 4) check(float{}, k);
    if (size_of(cases[k].dtype) == 2) check(uint16_t{}, k);
    if (size_of(cases[k].dtype) == 1) check(uint8_t{}, k);
  }
}

TEST(Copy, AGPUTransposesSquaresWhoseRowsBeginAtVectors) {
  struct Case {
    Dims dims, order;
    DType dtype;
    int64_t side;  ///< of a square that is an item of the range; 1: an element is
  };
  std::vector<Case> cases{{{3, 32, 24}, {0, 2, 1}, DType::bfloat16, 8}, {{2, 8, 4, 16}, {0, 2, 3, 1}, DType::bfloat16, 8},
                          {{3, 12, 20}, {0, 2, 1}, DType::float32, 4},  {{3, 6, 10}, {0, 2, 1}, DType::int64, 2},
                          {{3, 12, 24}, {0, 2, 1}, DType::bfloat16, 1},  // 12 rows are no whole squares
                          {{3, 32, 32}, {0, 2, 1}, DType::uint8, 1}};    // registers
  LoadedKernels kernels;
  std::vector<KernelUse> uses;
  for (const Case& c : cases) {
    auto spec = permute_copy(c.dtype, shape_of(c.dims, 0), c.order);
    ASSERT_TRUE(spec) << to_string(spec.error());
    auto use = kernels.module.add_copy(*spec);
    ASSERT_TRUE(use) << to_string(use.error());
    const int64_t elements = count_of(c.dims), one = c.dims[0];
    const int64_t items = *evaluate(use->gpu_work, [&](const std::string&) { return &one; });
    if (c.side > 1) EXPECT_EQ(items, elements / (c.side * c.side)) << c.dims[2];
    else EXPECT_GE(items, elements) << c.dims[2];
    uses.push_back(*use);
  }
  ASSERT_NO_FATAL_FAILURE(kernels.load());
  auto check = [&](auto type, size_t k) {
    using T = decltype(type);
    auto x = iota<T>(count_of(cases[k].dims));
    auto expected = permuted(x, cases[k].dims, cases[k].order);
    std::vector<T> y(x.size());
    kernels.run(uses[k], {x.data(), y.data()}, {{"batch", cases[k].dims[0]}}, 3, [&] {
      ASSERT_EQ(y, expected) << "case " << k;
      std::fill(y.begin(), y.end(), T{});
    });
  };
  for (size_t k = 0; k < cases.size(); ++k) {
    if (size_of(cases[k].dtype) == 8) check(int64_t{}, k);
    if (size_of(cases[k].dtype) == 4) check(float{}, k);
    if (size_of(cases[k].dtype) == 2) check(uint16_t{}, k);
    if (size_of(cases[k].dtype) == 1) check(uint8_t{}, k);
  }
}

TEST(Copy, SlicesAndSelections) {
  LoadedKernels kernels;
  Shape x_shape{batch(), 9, 6};
  auto slice = slice_copy(DType::float32, x_shape, 1, 2, 3, 2);
  auto columns = slice_copy(DType::float32, x_shape, -1, 1, 4);
  auto rows = slice_copy(DType::float32, x_shape, 0, 1, batch() + Extent(-2));
  auto last = select_copy(DType::float32, x_shape, 0, -1);
  auto middle = select_copy(DType::float32, x_shape, 1, -2);
  auto column = select_copy(DType::float32, x_shape, 2, 5);
  ASSERT_TRUE(slice && columns && rows && last && middle && column);
  struct Case {
    CopySpec spec;
    std::function<bool(size_t, size_t, size_t)> taken;
  };
  std::vector<Case> cases{{*slice, [](size_t, size_t j, size_t) { return j == 2 || j == 4 || j == 6; }},
                          {*columns, [](size_t, size_t, size_t k) { return k >= 1 && k < 5; }},
                          {*rows, [](size_t i, size_t, size_t) { return i >= 1 && i < 4; }},
                          {*last, [](size_t i, size_t, size_t) { return i == 4; }},
                          {*middle, [](size_t, size_t j, size_t) { return j == 7; }},
                          {*column, [](size_t, size_t, size_t k) { return k == 5; }}};
  std::vector<KernelUse> uses;
  for (const Case& c : cases) {
    auto use = kernels.module.add_copy(c.spec);
    ASSERT_TRUE(use) << to_string(use.error());
    uses.push_back(*use);
  }
  ASSERT_NO_FATAL_FAILURE(kernels.load());
  auto x = iota<float>(5 * 54);
  for (size_t n = 0; n < cases.size(); ++n) {
    std::vector<float> expected, y(x.size(), -1);
    for (size_t f = 0; f < x.size(); ++f)
      if (cases[n].taken(f / 54, f / 6 % 9, f % 6)) expected.push_back(x[f]);
    expected.resize(x.size(), -1);
    kernels.run(uses[n], {x.data(), y.data()}, {{"batch", 5}}, 2, [&] {
      ASSERT_EQ(y, expected) << "case " << n;
      std::fill(y.begin(), y.end(), -1.f);
    });
  }
  EXPECT_FALSE(select_copy(DType::float32, x_shape, 1, 9));
  EXPECT_FALSE(permute_copy(DType::float32, x_shape, {0, 1, 1}));
}

TEST(Concat, AlongEachDimension) {
  LoadedKernels kernels;
  struct Case {
    std::vector<Shape> inputs;
    std::vector<Dims> dims;  // batch = 4
    int64_t dim;
  };
  Extent n = batch();
  std::vector<Case> cases{{{{n, 3, 5}, {n, 1, 5}, {n, 4, 5}}, {{4, 3, 5}, {4, 1, 5}, {4, 4, 5}}, 1},
                          {{{n, 3}, {n * 2, 3}}, {{4, 3}, {8, 3}}, 0},
                          {{{1000, 3}, {7, 3}}, {{1000, 3}, {7, 3}}, 0},
                          {{{n, 2}, {n, 6}}, {{4, 2}, {4, 6}}, -1},
                          {{{n, 0}, {n, 6}}, {{4, 0}, {4, 6}}, 1}};
  std::vector<KernelUse> uses;
  for (const Case& c : cases) {
    ConcatSpec spec;
    spec.inputs = c.inputs;
    spec.dim = c.dim;
    auto use = kernels.module.add_concat(spec);
    ASSERT_TRUE(use) << to_string(use.error());
    uses.push_back(*use);
  }
  ASSERT_NO_FATAL_FAILURE(kernels.load());
  for (size_t k = 0; k < cases.size(); ++k) {
    const Case& c = cases[k];
    size_t d = size_t(c.dim < 0 ? c.dim + int64_t(c.dims[0].size()) : c.dim);
    int64_t outer = count_of(Dims(c.dims[0].begin(), c.dims[0].begin() + long(d)));
    std::vector<std::vector<float>> inputs;
    std::vector<void*> buffers;
    for (const Dims& dims : c.dims) {
      inputs.push_back(iota<float>(count_of(dims)));
      for (float& value : inputs.back()) value += float(inputs.size()) * 10000;
    }
    for (auto& input : inputs) buffers.push_back(input.data());
    std::vector<float> expected;
    for (int64_t o = 0; o < outer; ++o)
      for (auto& input : inputs) {
        auto row = long(input.size() / size_t(outer));
        expected.insert(expected.end(), input.begin() + o * row, input.begin() + (o + 1) * row);
      }
    std::vector<float> y(expected.size());
    buffers.push_back(y.data());
    kernels.run(uses[k], buffers, {{"batch", 4}}, 3, [&] {
      ASSERT_EQ(y, expected) << "case " << k;
      std::fill(y.begin(), y.end(), 0.f);
    });
  }
  ConcatSpec wrong;
  wrong.inputs = {{n, 3}, {n, 3, 1}};
  EXPECT_FALSE(kernels.module.add_concat(wrong));
}

TEST(Embedding, LooksUpRowsAndReportsTheFirstIndexOutOfRange) {
  LoadedKernels kernels;
  EmbeddingSpec spec;
  spec.index_shape = {batch(), 5};
  spec.entries = 11;
  spec.width = 19;
  auto wide = kernels.module.add_embedding(spec);
  spec.index = DType::int32;
  auto narrow = kernels.module.add_embedding(spec);
  ASSERT_TRUE(wide && narrow);
  EXPECT_EQ(wide->work, batch() * 5);
  ASSERT_NO_FATAL_FAILURE(kernels.load());
  auto weight = iota<float>(11 * 19);
  std::vector<int64_t> index(20);
  for (size_t i = 0; i < 20; ++i) index[i] = int64_t(i * 5 % 11);
  std::vector<int32_t> narrow_index(index.begin(), index.end());
  std::vector<float> y(20 * 19);
  int64_t status = 0;
  auto check = [&] {
    ASSERT_EQ(status, 0);
    for (size_t i = 0; i < y.size(); ++i) ASSERT_EQ(y[i], weight[size_t(index[i / 19]) * 19 + i % 19]);
    std::fill(y.begin(), y.end(), 0.f);
  };
  kernels.run(*wide, {index.data(), weight.data(), y.data(), &status}, {{"batch", 4}}, 3, check);
  kernels.run(*narrow, {narrow_index.data(), weight.data(), y.data(), &status}, {{"batch", 4}}, 3, check);
  for (int64_t bad : {int64_t{11}, int64_t{-1}, INT64_MAX, INT64_MIN}) {
    auto broken = index;
    broken[7] = broken[13] = bad;
    kernels.run(*wide, {broken.data(), weight.data(), y.data(), &status}, {{"batch", 4}}, 20, [&] {
      ASSERT_EQ(~status, 7);
      status = 0;
    });
  }
  narrow_index[0] = -5;
  kernels.run(*narrow, {narrow_index.data(), weight.data(), y.data(), &status}, {{"batch", 4}}, 1, [&] {
    ASSERT_EQ(~status, 0);
    status = 0;
  });
}

TEST(KernelModule, NothingToCompileGivesNoObjects) {
  LoadedKernels kernels;
  auto objects = kernels.module.compile();
  ASSERT_TRUE(objects);
  EXPECT_TRUE(objects->empty());
}

TEST(KernelModule, NeedsNoFolderToWriteTo) {
  LoadedKernels kernels;
  auto spec = permute_copy(DType::float32, {batch(), 3}, {1, 0});
  ASSERT_TRUE(spec && kernels.module.add_copy(*spec));
  const char* before = std::getenv("TMPDIR");
  std::string saved = before ? before : "";
  setenv("TMPDIR", "/nowhere", 1);
  auto objects = kernels.module.compile();
  before ? setenv("TMPDIR", saved.c_str(), 1) : unsetenv("TMPDIR");
  ASSERT_TRUE(objects) << objects.error().message();
  EXPECT_FALSE(objects->empty());
}

}  // namespace
}  // namespace sheaf::kernels
