// Properties of kernels on a GPU, on the emulator: guards, many tensors in one launch, rows of each length.
#include "tests/unit/codegen/loaded_kernels.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

#include <bit>
#include <cmath>
#include <numeric>

namespace sheaf::kernels {
namespace {

using Values = llvm::SmallVector<mlir::Value>;

/// y = factor · x with a factor of one element.
ElementwiseSpec scaled() {
  ElementwiseSpec spec;
  spec.name = "scaled";
  spec.inputs = {{DType::float32, {1}}, {DType::float32, {batch()}}};
  spec.shape = {batch()};
  spec.outputs = {DType::float32};
  spec.body = [](mlir::OpBuilder& b, mlir::Location l, mlir::ValueRange v) {
    return Values{b.create<mlir::arith::MulFOp>(l, v[0], v[1])};
  };
  return spec;
}

TEST(Ptx, AGuardThatIsNotZeroLeavesEverythingAlone) {
  LoadedKernels kernels;
  auto use = kernels.module.add_elementwise(scaled());
  ASSERT_TRUE(use);
  ASSERT_NO_FATAL_FAILURE(kernels.load());
  float factor = 2;
  std::vector<float> x = random_values(1500, 1), y(1500, 7);
  int32_t guard = 3;
  kernels.launch(*use, {&factor, x.data(), y.data()}, {}, 1500, 4, &guard);
  EXPECT_EQ(y, std::vector<float>(1500, 7));
  guard = 0;
  kernels.launch(*use, {&factor, x.data(), y.data()}, {}, 1500, 4, &guard);
  for (size_t i = 0; i < x.size(); ++i) ASSERT_EQ(y[i], 2 * x[i]) << i;
}

TEST(Ptx, ManyTensorsInOneLaunch) {
  LoadedKernels kernels;
  auto use = kernels.module.add_elementwise(scaled());
  ASSERT_TRUE(use);
  ASSERT_TRUE(use->elementwise);
  ASSERT_NO_FATAL_FAILURE(kernels.load());
  const std::vector<int64_t> sizes = {1, 5000, 0, 1024, 1023};
  std::vector<float> factors = {2, 3, 4, 5, 6};
  for (const auto& [rows, columns] : std::vector<std::pair<uint32_t, uint32_t>>{{5, 2}, {2, 1}, {7, 9}}) {
    std::vector<std::vector<float>> x, y;
    std::vector<int64_t> table;
    for (size_t i = 0; i < sizes.size(); ++i) {
      x.push_back(random_values(sizes[i], static_cast<unsigned>(i)));
      y.emplace_back(x.back().size(), 0.f);
      table.push_back(sizes[i]);
      for (float* buffer : {&factors[i], x[i].data(), y[i].data()}) table.push_back(reinterpret_cast<int64_t>(buffer));
    }
    for (int32_t guard : {1, 0}) {
      const int64_t values[] = {reinterpret_cast<int64_t>(table.data()), static_cast<int64_t>(sizes.size()),
                                reinterpret_cast<int64_t>(&guard)};
      const void* arguments[] = {&values[0], &values[1], &values[2]};
      ptx::HostMemory memory;
      const auto block = static_cast<uint32_t>(kernels.kernel(use->name).gpu_block);
      auto done = kernels.ptx().launch(use->name + "_many", {{columns, rows, 1}, {block, 1, 1}}, arguments, memory,
                                       {.detect_races = true, .reverse_blocks = true});
      ASSERT_TRUE(done) << to_string(done.error());
      for (size_t i = 0; i < sizes.size(); ++i)
        for (size_t j = 0; j < x[i].size(); ++j) ASSERT_EQ(y[i][j], guard ? 0 : factors[i] * x[i][j]) << i << ' ' << j;
    }
  }
}

/// Sums along the middle of [outer, n, inner], whose threads share an item in every possible way.
TEST(Ptx, SumsOfEachLengthHaveTheSameBitsForEachGrid) {
  struct Case {
    int64_t outer, n, inner;
    KernelUse use = {};
  };
  std::vector<Case> cases = {{3, 2, 1},   {5, 17, 1},    {33, 32, 1}, {7, 100, 1},   {6, 1025, 1}, {2, 5000, 1}, {2, 20000, 1},
                             {1, 100, 3}, {1, 3000, 10}, {3, 64, 40}, {1, 500, 100}, {2, 9, 33},   {9, 8, 1},    {3, 64, 1},
                             {3, 204, 1}, {2, 1032, 1},  {2, 30, 16}, {1, 700, 260}, {2, 3000, 4}};
  LoadedKernels kernels;
  for (Case& c : cases) {
    MeanSpec spec;
    spec.x.shape = {c.outer, c.n, c.inner};
    spec.dim = 1;
    spec.take = Reduction::sum;
    auto use = kernels.module.add_mean(spec);
    ASSERT_TRUE(use) << to_string(use.error());
    c.use = *use;
  }
  ASSERT_NO_FATAL_FAILURE(kernels.load());
  for (const Case& c : cases) {
    SCOPED_TRACE(testing::Message() << "[" << c.outer << ", " << c.n << ", " << c.inner << "], "
                                    << kernels.kernel(c.use.name).gpu_block << " threads, "
                                    << kernels.kernel(c.use.name).gpu_items << " items");
    std::vector<float> x = random_values(c.outer * c.n * c.inner, 3), first;
    const int64_t work = c.use.gpu_work.constant;
    ASSERT_EQ(work, c.outer * c.inner);
    for (int64_t blocks : {1000, 1, 3}) {
      std::vector<float> y(static_cast<size_t>(work), NAN);
      ASSERT_NO_FATAL_FAILURE(kernels.launch(c.use, {x.data(), y.data()}, {}, work, blocks));
      if (first.empty()) first = y;
      EXPECT_EQ(y, first) << blocks;
    }
    for (int64_t i = 0; i < work; ++i) {
      double sum = 0;
      for (int64_t k = 0; k < c.n; ++k) sum += x[static_cast<size_t>((i / c.inner * c.n + k) * c.inner + i % c.inner)];
      ASSERT_NEAR(first[static_cast<size_t>(i)], sum, 1e-5 * (std::abs(sum) + 3 * std::sqrt(static_cast<double>(c.n)))) << i;
    }
  }
}

/// Rows, columns and all of a tensor by vectors, of f32 and bf16. A share of the rows has the bits of the whole: a sum's order of additions
/// depends on its own length alone.
TEST(Ptx, AShareOfTheSumsHasTheBitsOfAllOfThem) {
  constexpr int64_t rows = 37, columns = 48;
  LoadedKernels kernels;
  struct Case {
    MeanSpec spec;
    KernelUse use;
  };
  std::vector<Case> cases;
  for (DType dtype : {DType::float32, DType::bfloat16})
    for (const auto& [dim, dims] : std::vector<std::pair<int64_t, int64_t>>{{1, 1}, {0, 1}, {0, 2}}) {
      MeanSpec spec;
      spec.x = {dtype, {batch(), columns}};
      spec.dim = dim;
      spec.dims = dims;
      spec.take = Reduction::sum;
      auto use = kernels.module.add_mean(spec);
      ASSERT_TRUE(use) << to_string(use.error());
      cases.push_back({spec, *use});
    }
  ASSERT_NO_FATAL_FAILURE(kernels.load());
  const std::vector<float> wide = random_values(rows * columns, 8);
  std::vector<uint16_t> narrow;
  for (float value : wide) narrow.push_back(static_cast<uint16_t>(std::bit_cast<uint32_t>(value) >> 16));
  const auto value = [&](DType dtype, int64_t at) {
    return dtype == DType::float32 ? wide[static_cast<size_t>(at)]
                                   : std::bit_cast<float>(static_cast<uint32_t>(narrow[static_cast<size_t>(at)]) << 16);
  };
  for (const Case& c : cases) {
    const DType dtype = c.spec.x.dtype;
    const bool by_rows = c.spec.dim == 1, all = c.spec.dims == 2;
    SCOPED_TRACE(testing::Message() << c.use.name << ", " << kernels.kernel(c.use.name).gpu_block << " threads");
    const auto sums = [&](int64_t first, int64_t count) {
      const int64_t work = by_rows ? count : all ? 1 : columns;
      std::vector<float> y(static_cast<size_t>(work), NAN);
      auto* x = dtype == DType::float32 ? static_cast<void*>(const_cast<float*>(wide.data() + first * columns))
                                        : const_cast<uint16_t*>(narrow.data() + first * columns);
      std::vector<int64_t> extents;
      for (const Extent& extent : c.use.extents)
        extents.push_back(*evaluate(extent, [&](const std::string&) { return &count; }));
      kernels.launch(c.use, {x, y.data()}, extents, work, 2);
      return y;
    };
    for (int64_t count : {rows, int64_t{1}, int64_t{8}}) {
      const std::vector<float> y = sums(0, count);
      for (size_t i = 0; i < y.size(); ++i) {
        double sum = 0;
        for (int64_t k = 0; k < (by_rows ? columns : count); ++k) {
          if (all)
            for (int64_t j = 0; j < columns; ++j) sum += value(dtype, k * columns + j);
          else sum += value(dtype, by_rows ? static_cast<int64_t>(i) * columns + k : k * columns + static_cast<int64_t>(i));
        }
        ASSERT_NEAR(y[i], sum, 1e-5 * (std::abs(sum) + 50)) << count << ' ' << i;
      }
    }
    if (!by_rows) continue;
    const std::vector<float> whole = sums(0, rows);
    for (int64_t row = 0; row < rows; ++row) EXPECT_EQ(sums(row, 1).front(), whole[static_cast<size_t>(row)]) << row;
  }
}

TEST(Ptx, LongRowsOfASoftmax) {
  LoadedKernels kernels;
  std::vector<std::pair<int64_t, KernelUse>> uses;
  for (int64_t n : {40, 3000, 17000}) {
    SoftmaxSpec spec;
    spec.x.shape = {2, n};
    auto use = kernels.module.add_softmax(spec);
    ASSERT_TRUE(use);
    uses.emplace_back(n, *use);
  }
  ASSERT_NO_FATAL_FAILURE(kernels.load());
  for (const auto& [n, use] : uses) {
    std::vector<float> x = random_values(2 * n, 4);
    const std::vector<float> before = x;
    // In place, as its use allows.
    ASSERT_NO_FATAL_FAILURE(kernels.launch(use, {x.data(), x.data()}, {}, 2, 2));
    for (int64_t row = 0; row < 2; ++row) {
      double sum = 0;
      for (int64_t i = 0; i < n; ++i) sum += std::exp(static_cast<double>(before[static_cast<size_t>(row * n + i)]));
      for (int64_t i = 0; i < n; ++i) {
        const auto at = static_cast<size_t>(row * n + i);
        ASSERT_NEAR(x[at], std::exp(static_cast<double>(before[at])) / sum, 1e-6 * x[at] + 1e-12) << row << ' ' << i;
      }
    }
  }
}

TEST(Ptx, TargetsLookUpTheirOwnValueNothingOrNaN) {
  constexpr int64_t rows = 40, classes = 90, width = 3;
  LoadedKernels kernels;
  LookupSpec spec;
  spec.outer = rows;
  spec.count = 1;
  spec.inner = width;
  spec.entries = classes;
  spec.elementwise = true;
  spec.ignored = -100;
  auto use = kernels.module.add_lookup(spec);
  ASSERT_TRUE(use);
  ASSERT_NO_FATAL_FAILURE(kernels.load());
  std::vector<int64_t> targets(rows * width);
  for (size_t i = 0; i < targets.size(); ++i) targets[i] = static_cast<int64_t>(i * i % classes);
  targets[5] = -100;
  targets[50] = classes;
  targets[70] = -1;
  std::vector<float> x = random_values(rows * classes * width, 5), y(targets.size());
  ASSERT_NO_FATAL_FAILURE(kernels.launch(*use, {targets.data(), x.data(), y.data()}, {}, use->gpu_work.constant, 5));
  for (size_t i = 0; i < targets.size(); ++i) {
    SCOPED_TRACE(i);
    if (i == 5) EXPECT_EQ(y[i], 0);
    else if (i == 50 || i == 70) EXPECT_TRUE(std::isnan(y[i]));
    else EXPECT_EQ(y[i], x[(i / width * classes + static_cast<size_t>(targets[i])) * width + i % width]);
  }
}

TEST(Ptx, LookupsReportTheFirstPositionAndGradientsOfTablesAddInOrder) {
  constexpr int64_t count = 3000, entries = 7, width = 37;
  LoadedKernels kernels;
  EmbeddingSpec of_rows;
  EmbeddingBackwardSpec of_gradients;
  of_rows.index_shape = of_gradients.index_shape = {count};
  of_rows.entries = of_gradients.entries = entries;
  of_rows.width = of_gradients.width = width;
  of_gradients.padding_idx = 2;
  auto lookup = kernels.module.add_embedding(of_rows);
  auto gradient = kernels.module.add_embedding_backward(of_gradients);
  ASSERT_TRUE(lookup && gradient);
  ASSERT_NO_FATAL_FAILURE(kernels.load());
  std::vector<int64_t> index(count);
  for (int64_t i = 0; i < count; ++i) index[static_cast<size_t>(i)] = i * i % 5;
  index[2100] = entries;
  index[900] = -1;
  std::vector<float> table = random_values(entries * width, 5), y(count * width), dy = random_values(count * width, 6);
  int64_t status = 0;
  ASSERT_NO_FATAL_FAILURE(
      kernels.launch(*lookup, {index.data(), table.data(), y.data(), &status}, {}, lookup->gpu_work.constant, 5));
  EXPECT_EQ(~status, 900);
  EXPECT_TRUE(std::equal(y.begin() + 899 * width, y.begin() + 900 * width, table.begin() + index[899] * width));
  EXPECT_EQ(gradient->gpu_work, Extent(entries));
  std::vector<float> dtable(entries * width, NAN), expected(entries * width, 0);
  for (size_t i = 0; i < count; ++i)
    for (size_t j = 0; j < width; ++j)
      if (index[i] >= 0 && index[i] < entries && index[i] != 2)
        expected[static_cast<size_t>(index[i]) * width + j] += dy[i * width + j];
  ASSERT_NO_FATAL_FAILURE(kernels.launch(*gradient, {index.data(), dy.data(), dtable.data()}, {}, entries, 2));
  EXPECT_EQ(dtable, expected);
}

}  // namespace
}  // namespace sheaf::kernels
