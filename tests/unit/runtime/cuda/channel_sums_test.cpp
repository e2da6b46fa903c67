// Sums by channel and batch norm by the project's own kernels, run from their PTX, against loops in double.
#include "runtime/cpu/ops/elements.h"
#include "runtime/cuda/channel_sums.h"
#include "runtime/cuda/format.h"
#include "runtime/cuda/planes.h"
#include "runtime/cuda/vector_norm.h"
#include "tests/unit/runtime/cuda/own_kernel_bench.h"

#include <cmath>

namespace sheaf::cuda {
namespace {

template <typename T>
DType dtype_of() {
  return sizeof(T) == 4 ? DType::float32 : DType::bfloat16;
}

/// The channel of each element of a tensor, in memory order.
std::vector<size_t> channels_of(const Dims& dims, bool last) {
  const size_t channels = size_t(dims[1]), positions = size_t(product(dims, 2, dims.size()));
  std::vector<size_t> result(size_t(product(dims, 0, dims.size())));
  for (size_t i = 0; i < result.size(); ++i) result[i] = last ? i % channels : i / positions % channels;
  return result;
}

class OwnChannels : public OwnKernelTest {};

const Dims kShapes[] = {
    {3, 5, 4, 3}, {2, 33, 7},  {40, 6},      {1, 2, 300},  {70, 3, 2, 2}, {300, 8},
    {33, 68, 3},  {5, 264, 2}, {3, 5, 4, 4}, {7, 2, 2048}, {1, 3, 12}};  // the last three: planes of whole vectors

TEST_F(OwnChannels, SumsInEitherFormat) {
  for (const Dims& dims : kShapes) {
    for (const bool last : {false, true}) {
      const auto x = random_values<float>(size_t(product(dims, 0, dims.size())), 1);
      const auto channel = channels_of(dims, last);
      std::vector<double> expected(static_cast<size_t>(dims[1]));
      for (size_t i = 0; i < x.size(); ++i) expected[channel[i]] += x[i];
      std::vector<KernelCall> calls;
      size_t scratch = 0;
      add_channel_sums(calls, kernels_.get(), {1, 0}, {0, 0}, DType::float32, dims, last, scratch);
      const auto sums = values_of<float>(run(std::move(calls), {bytes_of(x)}, {Bytes(expected.size() * 4)}, scratch)[0]);
      for (size_t c = 0; c < expected.size(); ++c) EXPECT_NEAR(sums[c], expected[c], 1e-4) << to_string(dims) << last;
    }
  }
}

/// By vectors if both ends are aligned; elements outside of vectors one by one.
TEST_F(OwnChannels, ConvertEveryElement) {
  for (const size_t count : {1, 7, 8, 4099}) {
    for (const size_t shift : {0, 4}) {
      const auto x = random_values<BFloat16>(count, unsigned(count));
      std::vector<KernelCall> calls = {widen_call(*kernels_, {1, 0}, {0, 0}, DType::bfloat16, int64_t(count))};
      const auto wide = values_of<float>(run(std::move(calls), {bytes_of(x)}, {Bytes(count * 4)}, 0, shift)[0]);
      calls = {narrow_call(*kernels_, {1, 0}, {0, 0}, DType::bfloat16, int64_t(count))};
      const auto narrow = values_of<BFloat16>(run(std::move(calls), {bytes_of(wide)}, {Bytes(count * 2)}, 0, shift)[0]);
      for (size_t i = 0; i < count; ++i) {
        ASSERT_EQ(wide[i], float(x[i])) << count << " + " << shift << ", " << i;
        ASSERT_EQ(float(narrow[i]), float(x[i])) << count << " + " << shift << ", " << i;
      }
    }
  }
}

/// Several tensors by one launch, whose table has a row for each.
TEST_F(OwnChannels, ConvertManyTensorsAtOnce) {
  const std::vector<size_t> counts = {1, 4099, 16, 700};
  for (const bool widens : {true, false}) {
    std::vector<Bytes> inputs, outputs;
    std::vector<uint64_t> table;
    std::vector<std::vector<BFloat16>> narrow;
    std::vector<Access> accesses;
    const auto put = [&](const Bytes& bytes) {
      char* memory = static_cast<char*>(allocate(bytes.size()));
      upload(memory, bytes);
      return memory;
    };
    std::vector<char*> results;
    for (const size_t count : counts) {
      narrow.push_back(random_values<BFloat16>(count, unsigned(count)));
      const std::vector<float> wide(narrow.back().begin(), narrow.back().end());
      const Bytes from = widens ? bytes_of(narrow.back()) : bytes_of(wide);
      results.push_back(put(Bytes(count * (widens ? 4 : 2))));
      char* source = put(from);
      table.insert(table.end(), {count, reinterpret_cast<uint64_t>(source), reinterpret_cast<uint64_t>(results.back())});
      accesses.push_back({source, from.size(), false});
      accesses.push_back({results.back(), count * (widens ? 4 : 2), true});
    }
    char* rows = put(bytes_of(table));
    accesses.push_back({rows, table.size() * 8, false});
    Launch launch;
    auto function = kernels_->find("convert", widens ? "widen_bf16_many" : "narrow_bf16_many");
    ASSERT_TRUE(function) << function.error().message();
    launch.function = *function;
    launch.grid[0] = 2;
    launch.grid[1] = 4;
    launch.block = 256;
    uint64_t address = reinterpret_cast<uint64_t>(rows), count = counts.size(), guard = 0;
    void* arguments[] = {&address, &count, &guard};
    launch.arguments = arguments;
    driver_->watch(stream_, accesses, "conversions");
    ASSERT_TRUE(driver_->launch(stream_, launch));
    finish();
    for (size_t t = 0; t < counts.size(); ++t) {
      const Bytes made = download(results[t], counts[t] * (widens ? 4 : 2));
      for (size_t i = 0; i < counts[t]; ++i) {
        const float expected = float(narrow[t][i]);
        ASSERT_EQ(widens ? values_of<float>(made)[i] : float(values_of<BFloat16>(made)[i]), expected) << t << ", " << i;
      }
    }
  }
}

struct NormCase {
  Dims dims;
  bool last, relu, affine, residual;
  bool sum = false;       ///< the gradient of a sum of two
  bool biased = false;    ///< the mean is of x and a bias
  bool together = false;  ///< in one launch, whose blocks are all resident at once
};

/// The result, in double.
struct Reference {
  std::vector<double> mean, var, y;
  std::vector<bool> passes;
};

template <typename T>
Reference reference(const NormCase& c, const std::vector<T>& x, const std::vector<float>& weight,
                    const std::vector<float>& bias, const std::vector<T>& residual, double eps) {
  const auto channel = channels_of(c.dims, c.last);
  const size_t channels = size_t(c.dims[1]);
  const double values = double(x.size() / channels);
  Reference r{std::vector<double>(channels), std::vector<double>(channels), {}, {}};
  for (size_t i = 0; i < x.size(); ++i) r.mean[channel[i]] += float(x[i]) / values;
  for (size_t i = 0; i < x.size(); ++i) r.var[channel[i]] += std::pow(float(x[i]) - r.mean[channel[i]], 2) / values;
  for (size_t i = 0; i < x.size(); ++i) {
    double y = (float(x[i]) - r.mean[channel[i]]) / std::sqrt(r.var[channel[i]] + eps);
    if (c.affine) y = y * weight[channel[i]] + bias[channel[i]];
    if (c.residual) y += float(residual[i]);
    r.passes.push_back(y > 0);
    r.y.push_back(c.relu && y <= 0 ? 0 : y);
  }
  return r;
}

class OwnBatchNorm : public OwnChannels {
 protected:
  template <typename T>
  void compare(const NormCase& c) {
    const size_t count = size_t(product(c.dims, 0, c.dims.size())), channels = size_t(c.dims[1]);
    const double tolerance = sizeof(T) == 4 ? 2e-5 : 3e-2, eps = 1e-5;
    const auto x = random_values<T>(count, 1, 3), dy = random_values<T>(count, 2), residual = random_values<T>(count, 3);
    const auto weight = random_values<float>(channels, 4), bias = random_values<float>(channels, 5);
    const auto more = random_values<T>(count, 6);
    const auto x_bias = random_values<float>(channels, 8);
    const Reference expected = reference(c, x, weight, bias, residual, eps);
    const auto channel = channels_of(c.dims, c.last);

    BatchNormCall norm;
    norm.dtype = dtype_of<T>();
    norm.dims = c.dims;
    norm.channels_last = c.last;
    norm.eps = float(eps);
    norm.relu = c.relu;
    norm.x = {0, 0};
    if (c.affine) norm.weight = {1, 0}, norm.bias = {2, 0};
    if (c.residual) norm.residual = {3, 0};
    norm.y = {5, 0};
    norm.mean = {6, 0};
    norm.var = {7, 0};
    if (c.relu) norm.mask = {8, 0};
    if (c.biased) norm.x_bias = {4, 0};
    std::vector<KernelCall> calls;
    size_t scratch = 0;
    if (c.together) {
      norm.most_together = 256;
      norm.word = kernels_->meeting_word();
      ASSERT_TRUE(norm.word);
    }
    const NormWork work = add_batch_norm_train(calls, kernels_.get(), norm, scratch);
    EXPECT_EQ(work.meetings, c.together && goes_by_vectors(norm));
    const bool bytewise = goes_by_vectors(norm) || goes_by_planes(norm);
    const size_t masks = bytewise ? (count + 7) / 8 : mask_bytes(c.dims);  // what is written
    const auto made =
        run(std::move(calls), {bytes_of(x), bytes_of(weight), bytes_of(bias), bytes_of(residual), bytes_of(x_bias)},
            {Bytes(count * sizeof(T)), Bytes(channels * 4), Bytes(channels * 4), Bytes(masks)}, scratch);
    const auto y = values_of<T>(made[0]);
    const auto mean = values_of<float>(made[1]), var = values_of<float>(made[2]);
    for (size_t i = 0; i < count; ++i) ASSERT_NEAR(float(y[i]), expected.y[i], tolerance * (1 + std::abs(expected.y[i]))) << i;
    for (size_t k = 0; k < channels; ++k) {
      EXPECT_NEAR(mean[k], expected.mean[k] + (c.biased ? x_bias[k] : 0), 1e-5);
      EXPECT_NEAR(var[k], expected.var[k], 1e-5 * (1 + expected.var[k]));
    }

    // The gradient, by the forward pass's own statistics and mask.
    std::vector<double> sum_g(channels), sum_gx(channels);
    const auto normal = [&](size_t i) {
      return (float(x[i]) - expected.mean[channel[i]]) / std::sqrt(expected.var[channel[i]] + eps);
    };
    const auto gradient = [&](size_t i) {
      if (c.relu && !expected.passes[i]) return 0.0;
      return double(float(c.sum ? T(float(dy[i]) + float(more[i])) : dy[i]));
    };
    for (size_t i = 0; i < count; ++i) sum_g[channel[i]] += gradient(i), sum_gx[channel[i]] += gradient(i) * normal(i);
    norm.dy = {1, 0};
    norm.mean = {2, 0};
    norm.var = {3, 0};
    norm.weight = c.affine ? MemoryRef{4, 0} : MemoryRef{};
    norm.mask = c.relu ? MemoryRef{5, 0} : MemoryRef{};
    norm.more = c.sum ? MemoryRef{6, 0} : MemoryRef{};
    norm.x_bias = c.biased ? MemoryRef{7, 0} : MemoryRef{};
    norm.dx = {8, 0};
    norm.dweight = {9, 0};
    norm.dbias = {10, 0};
    norm.gradient = {11, 0};
    scratch = 0;
    calls.clear();
    add_batch_norm_backward(calls, kernels_.get(), norm, scratch);
    const auto back =
        run(std::move(calls),
            {bytes_of(x), bytes_of(dy), made[1], made[2], bytes_of(weight), c.relu ? made[3] : Bytes(4), bytes_of(more),
             bytes_of(x_bias)},
            {Bytes(count * sizeof(T)), Bytes(channels * 4), Bytes(channels * 4), Bytes(count * sizeof(T))}, scratch);
    const auto dx = values_of<T>(back[0]), branch = values_of<T>(back[3]);
    const auto dweight = values_of<float>(back[1]), dbias = values_of<float>(back[2]);
    const double values = double(count / channels);
    for (size_t i = 0; i < count; ++i) {
      const size_t k = channel[i];
      const double scale = (c.affine ? weight[k] : 1) / std::sqrt(expected.var[k] + eps);
      const double dxi = scale * (gradient(i) - sum_g[k] / values - normal(i) * sum_gx[k] / values);
      ASSERT_NEAR(float(dx[i]), dxi, tolerance * 4 * (1 + std::abs(dxi))) << i;
      ASSERT_EQ(float(branch[i]), float(gradient(i))) << i;
    }
    for (size_t k = 0; k < channels; ++k) {
      EXPECT_NEAR(dweight[k], sum_gx[k], 1e-3);
      EXPECT_NEAR(dbias[k], sum_g[k], 1e-3);
    }
    std::vector<Bytes> all = made;
    all.insert(all.end(), back.begin(), back.end());
    bits_.push_back(std::move(all));
  }

  std::vector<std::vector<Bytes>> bits_;  ///< all results, by comparison
};

TEST_F(OwnBatchNorm, AndItsGradientInEitherFormat) {
  for (const Dims& dims : kShapes) {
    for (const bool last : {false, true}) {
      SCOPED_TRACE(to_string(dims) + (last ? " channels last" : ""));
      compare<float>({dims, last, false, true, false});
      compare<float>({dims, last, true, true, true});
      compare<float>({dims, last, true, true, true, true});
      compare<float>({dims, last, false, true, false, false, true});
    }
  }
  compare<float>({{3, 5, 4, 3}, false, true, false, false});
}

/// Blocks that meet give the same bits as two launches, whether a thread's rows stay in its registers or are read again.
TEST_F(OwnBatchNorm, InOneLaunch) {
  for (const Dims& dims : {Dims{300, 8}, Dims{33, 72, 3}, Dims{70, 16, 3, 5}, Dims{512, 8, 2, 2}}) {
    SCOPED_TRACE(to_string(dims));
    for (const bool together : {false, true}) {
      compare<float>({dims, true, true, true, true, true, true, together});
      compare<BFloat16>({dims, true, true, true, true, true, false, together});
      compare<BFloat16>({dims, true, false, true, false, false, true, together});
    }
    ASSERT_EQ(bits_.size(), 6U);
    for (size_t i = 0; i < 3; ++i) EXPECT_EQ(bits_[i], bits_[i + 3]) << i;
    bits_.clear();
  }
}

TEST_F(OwnBatchNorm, OfNarrowValues) {
  compare<BFloat16>({{3, 10, 4, 3}, true, false, true, false});
  compare<BFloat16>({{3, 10, 4, 3}, false, false, false, true});
  compare<BFloat16>({{30, 16, 4, 3}, true, true, true, false});
  compare<BFloat16>({{40, 72, 5, 3}, true, true, true, false, true, true});
  compare<BFloat16>({{3, 10, 4, 4}, false, true, true, true});
  compare<BFloat16>({{9, 2, 1024}, false, true, true, false, true, true});
}

/// Values far from 0 keep their variance: with vectors, sums are about a value of the channel's own.
TEST_F(OwnBatchNorm, OfValuesFarFromZero) {
  const Dims dims = {70, 8, 3, 5};
  const auto x = random_values<float>(size_t(product(dims, 0, dims.size())), 7, 1e3F);
  const Reference expected = reference<float>({dims, true, false, false, false}, x, {}, {}, {}, 0);
  for (const bool last : {false, true}) {
    BatchNormCall norm;
    norm.dims = dims;
    norm.channels_last = last;
    norm.x = {0, 0};
    norm.y = {1, 0};
    norm.mean = {2, 0};
    norm.var = {3, 0};
    std::vector<KernelCall> calls;
    size_t scratch = 0;
    add_batch_norm_train(calls, kernels_.get(), norm, scratch);
    EXPECT_EQ(goes_by_vectors(norm), last);
    const auto made = run(std::move(calls), {bytes_of(x)}, {Bytes(x.size() * 4), Bytes(32), Bytes(32)}, scratch);
    const auto mean = values_of<float>(made[1]), var = values_of<float>(made[2]);
    const auto again = last ? expected : reference<float>({dims, false, false, false, false}, x, {}, {}, {}, 0);
    for (size_t k = 0; k < 8; ++k) {
      EXPECT_NEAR(mean[k], again.mean[k], 2e-4) << last;
      EXPECT_NEAR(var[k], again.var[k], 2e-5 * again.var[k]) << last;
    }
  }
}

TEST_F(OwnBatchNorm, KeepsNanThroughRelu) {
  std::vector<float> x = random_values<float>(2 * 3 * 4, 1);
  x[5] = NAN;  // of channel 1
  BatchNormCall norm;
  norm.dims = {2, 3, 4};
  norm.eps = 1e-5F;
  norm.relu = true;
  norm.x = {0, 0};
  norm.y = {1, 0};
  norm.mean = {2, 0};
  norm.var = {3, 0};
  norm.mask = {4, 0};
  std::vector<KernelCall> calls;
  size_t scratch = 0;
  add_batch_norm_train(calls, kernels_.get(), norm, scratch);
  const auto y = values_of<float>(
      run(std::move(calls), {bytes_of(x)}, {Bytes(x.size() * 4), Bytes(12), Bytes(12), Bytes(x.size() / 8)}, scratch)[0]);
  for (size_t i = 0; i < y.size(); ++i) EXPECT_EQ(std::isnan(y[i]), i / 4 % 3 == 1) << i;
}

}  // namespace
}  // namespace sheaf::cuda
