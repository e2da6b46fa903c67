#include "tests/unit/runtime/cpu/reference_training.h"

#include "runtime/plan/op_list.h"
#include "tests/unit/runtime/cpu/reference.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>

namespace sheaf::test {
namespace {

using Sums = std::vector<double>;

int64_t count(const Dims& dims) {
  int64_t result = 1;
  for (int64_t dim : dims) result *= dim;
  return result;
}

Tensor rounded(const Sums& sums, const Dims& dims) {
  Tensor tensor(dims);
  EXPECT_EQ(tensor.size(), int64_t(sums.size()));
  for (int64_t i = 0; i < tensor.size(); ++i) tensor.data[i] = float(sums[i]);
  return tensor;
}

/// Calls f(x, weight, y) with the indices of each product in a convolution's sums.
template <typename F>
void each_tap(const StepCase& c, const Dims& x_dims, const Dims& w_dims, const Dims& y_dims, F f) {
  const Dims x = five(x_dims), w = five(w_dims), y = five(y_dims), stride = spatial(c, "stride", 1),
             dilation = spatial(c, "dilation", 1), begin = spatial(c, "padding_begin", 0);
  const int64_t out_per_group = w[0] / c.attributes.value("groups", int64_t{1});
  const int64_t pixels = y[2] * y[3] * y[4], taps = w[2] * w[3] * w[4];
  for (int64_t n = 0; n < y[0]; ++n)
    for (int64_t o = 0; o < y[1]; ++o)
      for (int64_t pixel = 0; pixel < pixels; ++pixel)
        for (int64_t i = 0; i < w[1]; ++i)
          for (int64_t tap = 0; tap < taps; ++tap) {
            const int64_t at[] = {pixel / (y[3] * y[4]), pixel / y[4] % y[3], pixel % y[4]};
            const int64_t k[] = {tap / (w[3] * w[4]), tap / w[4] % w[3], tap % w[4]};
            int64_t from = n * x[1] + o / out_per_group * w[1] + i;
            bool inside = true;
            for (int d = 0; d < 3; ++d) {
              const int64_t p = at[d] * stride[d] - begin[d] + k[d] * dilation[d];
              inside = inside && p >= 0 && p < x[d + 2];
              from = from * x[d + 2] + p;
            }
            if (inside) f(from, (o * w[1] + i) * taps + tap, (n * y[1] + o) * pixels + pixel);
          }
}

std::vector<Tensor> conv_backward_data(const StepCase& c) {
  const Tensor &dy = *find(c, "dy"), &weight = *find(c, "weight");
  Sums dx(count(c.outputs[0]));
  each_tap(c, c.outputs[0], weight.dims, dy.dims,
           [&](int64_t x, int64_t w, int64_t y) { dx[x] += double(dy.data[y]) * weight.data[w]; });
  return {rounded(dx, c.outputs[0])};
}

std::vector<Tensor> conv_backward_weight(const StepCase& c) {
  const Tensor &x = *find(c, "x"), &dy = *find(c, "dy");
  Sums dweight(count(c.outputs[0])), dbias(dy.dims[1]);
  each_tap(c, x.dims, c.outputs[0], dy.dims,
           [&](int64_t i, int64_t w, int64_t y) { dweight[w] += double(x.data[i]) * dy.data[y]; });
  const int64_t pixels = count(dy.dims) / dy.dims[0] / dy.dims[1];
  for (int64_t i = 0; i < dy.size(); ++i) dbias[i / pixels % dy.dims[1]] += dy.data[i];
  std::vector<Tensor> result = {rounded(dweight, c.outputs[0])};
  if (c.attributes.value("bias", false)) result.push_back(rounded(dbias, {dy.dims[1]}));
  return result;
}

std::vector<Tensor> linear_backward_data(const StepCase& c) {
  const Tensor &dy = *find(c, "dy"), &weight = *find(c, "weight");
  const int64_t out = weight.dims[0], in = weight.dims[1];
  Sums dx(count(c.outputs[0]));
  for (int64_t i = 0; i < int64_t(dx.size()); ++i)
    for (int64_t o = 0; o < out; ++o) dx[i] += double(dy.data[i / in * out + o]) * weight.data[o * in + i % in];
  return {rounded(dx, c.outputs[0])};
}

std::vector<Tensor> linear_backward_weight(const StepCase& c) {
  const Tensor &x = *find(c, "x"), &dy = *find(c, "dy");
  const int64_t out = dy.dims.back(), in = x.dims.back();
  Sums dweight(out * in), dbias(out);
  for (int64_t i = 0; i < dy.size(); ++i) {
    dbias[i % out] += dy.data[i];
    for (int64_t j = 0; j < in; ++j) dweight[i % out * in + j] += double(dy.data[i]) * x.data[i / out * in + j];
  }
  std::vector<Tensor> result = {rounded(dweight, {out, in})};
  if (c.attributes.value("bias", false)) result.push_back(rounded(dbias, {out}));
  return result;
}

std::vector<Tensor> batch_norm_train(const StepCase& c) {
  const Tensor &x = *find(c, "x"), *weight = find(c, "weight"), *bias = find(c, "bias");
  const int64_t channels = x.dims[1], pixels = x.size() / x.dims[0] / channels, values = x.dims[0] * pixels;
  Sums mean(channels), var(channels), y(x.size());
  for (int64_t i = 0; i < x.size(); ++i) mean[i / pixels % channels] += x.data[i] / double(values);
  for (int64_t i = 0; i < x.size(); ++i)
    var[i / pixels % channels] += std::pow(x.data[i] - mean[i / pixels % channels], 2) / double(values);
  for (int64_t i = 0; i < x.size(); ++i) {
    const int64_t k = i / pixels % channels;
    y[i] = (x.data[i] - mean[k]) / std::sqrt(var[k] + c.attributes["eps"].get<double>());
    if (weight) y[i] = y[i] * weight->data[k] + bias->data[k];
    if (c.attributes.contains("activation")) y[i] = std::max(y[i], 0.0);
  }
  return {rounded(y, x.dims), rounded(mean, {channels}), rounded(var, {channels})};
}

/// With x̂ the normalised x, s = 1 / sqrt(var + eps) and n values per channel: dx = weight · s · (dy - Σ dy / n - x̂ · Σ (dy ·
/// x̂) / n), dweight = Σ dy · x̂, dbias = Σ dy.
std::vector<Tensor> batch_norm_backward(const StepCase& c) {
  const Tensor &x = *find(c, "x"), &dy = *find(c, "dy"), &mean = *find(c, "mean"), &var = *find(c, "var"),
               *weight = find(c, "weight"), *y = find(c, "y");
  const int64_t channels = x.dims[1], pixels = x.size() / x.dims[0] / channels, values = x.dims[0] * pixels;
  Sums gradient(x.size()), normal(x.size()), dweight(channels), dbias(channels), dx(x.size());
  auto scale = [&](int64_t k) { return 1 / std::sqrt(var.data[k] + c.attributes["eps"].get<double>()); };
  for (int64_t i = 0; i < x.size(); ++i) {
    const int64_t k = i / pixels % channels;
    gradient[i] = y && y->data[i] <= 0 ? 0.0 : dy.data[i];
    normal[i] = (double(x.data[i]) - mean.data[k]) * scale(k);
    dweight[k] += gradient[i] * normal[i];
    dbias[k] += gradient[i];
  }
  for (int64_t i = 0; i < x.size(); ++i) {
    const int64_t k = i / pixels % channels;
    dx[i] = (weight ? weight->data[k] : 1.0) * scale(k) *
            (gradient[i] - dbias[k] / double(values) - normal[i] * dweight[k] / double(values));
  }
  std::vector<Tensor> result = {rounded(dx, x.dims)};
  if (weight) result.insert(result.end(), {rounded(dweight, {channels}), rounded(dbias, {channels})});
  return result;
}

/// One output's window: indices into x, and the divisor of an average.
struct Window {
  int64_t y;
  std::vector<int64_t> x;
  double divisor;
};

template <typename F>
void each_window(const StepCase& c, const Dims& x_dims, const Dims& y_dims, F f) {
  const bool adaptive = c.op == Op::adaptive_avg_pool_backward;
  const Dims x = five(x_dims), y = five(y_dims), kernel = spatial(c, "kernel_size", 1), stride = spatial(c, "stride", 1),
             padding = spatial(c, "padding", 0), dilation = spatial(c, "dilation", 1);
  const int64_t divisor = c.attributes.value("divisor_override", int64_t{0}), pixels = y[2] * y[3] * y[4];
  for (int64_t i = 0; i < count(y); ++i) {
    const int64_t at[] = {i % pixels / (y[3] * y[4]), i / y[4] % y[3], i % y[4]};
    Dims positions[3];
    double padded = 1;
    for (int d = 0; d < 3; ++d) {
      const int64_t size = x[d + 2];
      const int64_t first = adaptive ? at[d] * size / y[d + 2] : at[d] * stride[d] - padding[d];
      const int64_t end =
          adaptive ? ((at[d] + 1) * size + y[d + 2] - 1) / y[d + 2] : std::min(first + kernel[d], size + padding[d]);
      padded *= double(end - first);
      const int64_t taps = adaptive ? end - first : kernel[d];
      for (int64_t k = 0; k < taps; ++k) {
        const int64_t p = first + k * dilation[d];
        if (p >= 0 && p < size) positions[d].push_back(p);
      }
    }
    Window window{i, {}, padded};
    for (int64_t p : positions[0])
      for (int64_t q : positions[1])
        for (int64_t r : positions[2]) window.x.push_back(((i / pixels * x[2] + p) * x[3] + q) * x[4] + r);
    if (!c.attributes.value("count_include_pad", true)) window.divisor = double(window.x.size());
    if (divisor) window.divisor = double(divisor);
    f(window);
  }
}

std::vector<Tensor> pool_backward(const StepCase& c) {
  const Tensor &dy = *find(c, "dy"), *x = find(c, "x");
  Sums dx(count(c.outputs[0]));
  each_window(c, c.outputs[0], dy.dims, [&](const Window& window) {
    if (c.op == Op::max_pool_backward) {  // the first of equals, as in PyTorch
      const auto largest =
          std::max_element(window.x.begin(), window.x.end(), [&](int64_t a, int64_t b) { return x->data[a] < x->data[b]; });
      dx[*largest] += dy.data[window.y];
    } else {
      for (const int64_t i : window.x) dx[i] += dy.data[window.y] / window.divisor;
    }
  });
  return {rounded(dx, c.outputs[0])};
}

}  // namespace

std::vector<Tensor> reference_training(const StepCase& c) {
  if (c.op == Op::conv_backward_data) return conv_backward_data(c);
  if (c.op == Op::conv_backward_weight) return conv_backward_weight(c);
  if (c.op == Op::linear_backward_data) return linear_backward_data(c);
  if (c.op == Op::linear_backward_weight) return linear_backward_weight(c);
  if (c.op == Op::batch_norm_train) return batch_norm_train(c);
  if (c.op == Op::batch_norm_backward) return batch_norm_backward(c);
  if (c.op == Op::max_pool_backward || c.op == Op::avg_pool_backward || c.op == Op::adaptive_avg_pool_backward)
    return pool_backward(c);
  ADD_FAILURE() << "no reference for " << to_string(c.op);
  return {};
}

}  // namespace sheaf::test
