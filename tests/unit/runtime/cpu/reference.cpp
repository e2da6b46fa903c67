#include "tests/unit/runtime/cpu/reference.h"

#include "runtime/plan/op_list.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>

namespace sheaf::test {

const Tensor* find(const StepCase& c, const std::string& role) {
  for (const Operand& operand : c.operands)
    if (operand.role == role) return &operand.value;
  return nullptr;
}

int64_t integer(const StepCase& c, const char* name, int64_t otherwise) {
  return c.attributes.contains(name) ? c.attributes[name].get<int64_t>() : otherwise;
}

Dims spatial(const StepCase& c, const char* name, int64_t otherwise) {
  Dims values = c.attributes.contains(name) ? c.attributes[name].get<Dims>() : Dims();
  while (values.size() < 3) values.insert(values.begin(), otherwise);
  return values;
}

Dims five(Dims dims) {
  while (dims.size() < 5) dims.insert(dims.begin() + 2, 1);
  return dims;
}

namespace {

Dims without_ones(const Dims& dims, size_t rank) {  // the inverse of five
  Dims result = {dims[0], dims[1]};
  result.insert(result.end(), dims.end() - (rank - 2), dims.end());
  return result;
}

/// Calls f(position) for each position of a box.
template <typename F>
void each(const Dims& dims, F f) {
  int64_t count = 1;
  for (int64_t dim : dims) count *= dim;
  Dims at(dims.size());
  for (int64_t i = 0; i < count; ++i) {
    int64_t rest = i;
    for (size_t d = dims.size(); d-- > 0;) {
      at[d] = rest % dims[d];
      rest /= dims[d];
    }
    f(at);
  }
}

int64_t offset(const Dims& dims, const Dims& at) {
  int64_t result = 0;
  for (size_t d = 0; d < dims.size(); ++d) result = result * dims[d] + at[d];
  return result;
}

Tensor finish(const StepCase& c, const std::vector<double>& sums, Dims dims) {
  Tensor y(std::move(dims));
  const Tensor* residual = find(c, "residual");
  for (int64_t i = 0; i < y.size(); ++i) {
    const double value = sums[i] + (residual ? residual->data[i] : 0.0);
    y.data[i] = float(c.attributes.contains("activation") ? reference_activation(c.attributes["activation"], value) : value);
  }
  return y;
}

Tensor conv(const StepCase& c) {
  const Tensor &x = *find(c, "x"), &w = *find(c, "weight");
  const Tensor* bias = find(c, "bias");
  const Dims xd = five(x.dims), wd = five(w.dims), stride = spatial(c, "stride", 1), dilation = spatial(c, "dilation", 1),
             begin = spatial(c, "padding_begin", 0), end = spatial(c, "padding_end", 0);
  const int64_t groups = integer(c, "groups", 1), out_per_group = wd[0] / groups;
  Dims yd = {xd[0], wd[0]};
  for (int i = 0; i < 3; ++i) yd.push_back((xd[i + 2] + begin[i] + end[i] - dilation[i] * (wd[i + 2] - 1) - 1) / stride[i] + 1);
  std::vector<double> sums;
  each(yd, [&](const Dims& at) {
    double sum = bias ? bias->data[at[1]] : 0;
    int64_t start[3];
    for (int i = 0; i < 3; ++i) start[i] = at[i + 2] * stride[i] - begin[i];
    const float* kernel = &w.data[at[1] * wd[1] * wd[2] * wd[3] * wd[4]];
    for (int64_t channel = 0; channel < wd[1]; ++channel) {
      const int64_t plane = at[0] * xd[1] + at[1] / out_per_group * wd[1] + channel;
      for (int64_t i = 0; i < wd[2]; ++i) {
        for (int64_t j = 0; j < wd[3]; ++j) {
          for (int64_t k = 0; k < wd[4]; ++k, ++kernel) {
            const int64_t p = start[0] + i * dilation[0], q = start[1] + j * dilation[1], r = start[2] + k * dilation[2];
            if (p < 0 || p >= xd[2] || q < 0 || q >= xd[3] || r < 0 || r >= xd[4]) continue;
            sum += double(*kernel) * x.data[((plane * xd[2] + p) * xd[3] + q) * xd[4] + r];
          }
        }
      }
    }
    sums.push_back(sum);
  });
  return finish(c, sums, without_ones(yd, x.dims.size()));
}

Tensor conv_transpose(const StepCase& c) {
  const Tensor &x = *find(c, "x"), &w = *find(c, "weight");
  const Tensor* bias = find(c, "bias");
  const Dims xd = five(x.dims), wd = five(w.dims), stride = spatial(c, "stride", 1), dilation = spatial(c, "dilation", 1),
             padding = spatial(c, "padding", 0), extra = spatial(c, "output_padding", 0);
  const int64_t groups = integer(c, "groups", 1), in_per_group = xd[1] / groups;
  Dims yd = {xd[0], wd[1] * groups};
  for (int i = 0; i < 3; ++i)
    yd.push_back((xd[i + 2] - 1) * stride[i] - 2 * padding[i] + dilation[i] * (wd[i + 2] - 1) + extra[i] + 1);
  std::vector<double> sums(yd[0] * yd[1] * yd[2] * yd[3] * yd[4]);
  if (bias) each(yd, [&](const Dims& at) { sums[offset(yd, at)] = bias->data[at[1]]; });
  each(xd, [&](const Dims& at) {
    each({wd[1], wd[2], wd[3], wd[4]}, [&](const Dims& k) {
      Dims to = {at[0], at[1] / in_per_group * wd[1] + k[0]};
      for (int i = 0; i < 3; ++i) {
        const int64_t p = at[i + 2] * stride[i] - padding[i] + k[i + 1] * dilation[i];
        if (p < 0 || p >= yd[i + 2]) return;
        to.push_back(p);
      }
      sums[offset(yd, to)] += double(x.data[offset(xd, at)]) * w.data[offset(wd, {at[1], k[0], k[1], k[2], k[3]})];
    });
  });
  return finish(c, sums, without_ones(yd, x.dims.size()));
}

Tensor linear(const StepCase& c) {
  const Tensor &x = *find(c, "x"), &w = *find(c, "weight");
  const Tensor* bias = find(c, "bias");
  const int64_t out = w.dims[0], in = w.dims[1];
  Dims yd = x.dims;
  yd.back() = out;
  const int64_t rows = Tensor(yd).size() / out;
  std::vector<double> sums;
  for (int64_t r = 0; r < rows; ++r) {
    for (int64_t o = 0; o < out; ++o) {
      double sum = bias ? bias->data[o] : 0;
      for (int64_t i = 0; i < in; ++i) sum += double(x.data[r * in + i]) * w.data[o * in + i];
      sums.push_back(sum);
    }
  }
  return finish(c, sums, yd);
}

Tensor matmul(const StepCase& c) {
  const Tensor &a = *find(c, "a"), &b = *find(c, "b");
  Dims ad = a.dims, bd = b.dims;
  if (ad.size() == 1) ad.insert(ad.begin(), 1);
  if (bd.size() == 1) bd.push_back(1);
  while (ad.size() < bd.size()) ad.insert(ad.begin(), 1);
  while (bd.size() < ad.size()) bd.insert(bd.begin(), 1);
  const size_t rank = ad.size();
  const int64_t inner = ad.back();
  Dims yd(rank);
  for (size_t d = 0; d + 2 < rank; ++d) yd[d] = ad[d] == 1 ? bd[d] : ad[d];
  yd[rank - 2] = ad[rank - 2];
  yd[rank - 1] = bd[rank - 1];
  std::vector<double> sums;
  each(yd, [&](const Dims& at) {
    Dims i = at, j = at;
    for (size_t d = 0; d + 2 < rank; ++d) {
      if (ad[d] == 1) i[d] = 0;
      if (bd[d] == 1) j[d] = 0;
    }
    double sum = 0;
    for (int64_t k = 0; k < inner; ++k) {
      i[rank - 1] = j[rank - 2] = k;
      sum += double(a.data[offset(ad, i)]) * b.data[offset(bd, j)];
    }
    sums.push_back(sum);
  });
  if (b.dims.size() == 1) yd.pop_back();
  if (a.dims.size() == 1) yd.erase(yd.end() - (b.dims.size() == 1 ? 1 : 2));
  return finish(c, sums, yd);
}

Tensor pool(const StepCase& c) {
  const Tensor& x = *find(c, "x");
  const bool maximum = c.op == Op::max_pool, ceil = c.attributes.value("ceil_mode", false),
             count_padding = c.attributes.value("count_include_pad", true);
  const int64_t divisor = integer(c, "divisor_override", 0);
  const Dims xd = five(x.dims), kernel = spatial(c, "kernel_size", 1), stride = spatial(c, "stride", 1),
             padding = spatial(c, "padding", 0), dilation = spatial(c, "dilation", 1);
  Dims yd = {xd[0], xd[1]};
  for (int i = 0; i < 3; ++i) yd.push_back(reference_pooled(xd[i + 2], kernel[i], stride[i], padding[i], dilation[i], ceil));
  std::vector<double> values;
  each(yd, [&](const Dims& at) {
    double sum = 0, largest = -std::numeric_limits<double>::infinity();
    int64_t inside = 0, padded = 1;
    for (int i = 0; i < 3; ++i) {  // the window's size, cut off at the padding's end
      const int64_t first = at[i + 2] * stride[i] - padding[i];
      padded *= std::min(first + kernel[i], xd[i + 2] + padding[i]) - first;
    }
    each({kernel[0], kernel[1], kernel[2]}, [&](const Dims& k) {
      Dims from = {at[0], at[1]};
      for (int i = 0; i < 3; ++i) {
        const int64_t p = at[i + 2] * stride[i] - padding[i] + k[i] * dilation[i];
        if (p < 0 || p >= xd[i + 2]) return;
        from.push_back(p);
      }
      const double value = x.data[offset(xd, from)];
      sum += value;
      largest = std::max(largest, value);
      ++inside;
    });
    values.push_back(maximum ? largest : sum / double(divisor ? divisor : count_padding ? padded : inside));
  });
  return finish(c, values, without_ones(yd, x.dims.size()));
}

Tensor adaptive(const StepCase& c) {
  const Tensor& x = *find(c, "x");
  const Dims xd = five(x.dims), yd = five(c.outputs[0]);
  std::vector<double> values;
  each(yd, [&](const Dims& at) {
    double sum = 0;
    int64_t count = 0;
    Dims first, size;
    for (int i = 2; i < 5; ++i) {
      first.push_back(int64_t(std::floor(double(at[i]) * double(xd[i]) / double(yd[i]))));
      size.push_back(int64_t(std::ceil(double(at[i] + 1) * double(xd[i]) / double(yd[i]))) - first.back());
    }
    each(size, [&](const Dims& k) {
      sum += x.data[offset(xd, {at[0], at[1], first[0] + k[0], first[1] + k[1], first[2] + k[2]})];
      ++count;
    });
    values.push_back(sum / double(count));
  });
  return finish(c, values, c.outputs[0]);
}

}  // namespace

double sigmoid(double x) { return 1 / (1 + std::exp(-x)); }

int64_t reference_pooled(int64_t size, int64_t kernel, int64_t stride, int64_t padding, int64_t dilation, bool ceil) {
  const double room = double(size + 2 * padding - dilation * (kernel - 1) - 1) / double(stride);
  int64_t out = int64_t(ceil ? std::ceil(room) : std::floor(room)) + 1;
  if (ceil && (out - 1) * stride >= size + padding) --out;
  return out;
}

double reference_activation(const Json& activation, double x) {
  const std::string kind = activation["kind"];
  if (kind == "relu") return std::max(x, 0.0);
  if (kind == "leaky_relu") return x > 0 ? x : activation.value("negative_slope", 0.01) * x;
  if (kind == "elu") return x > 0 ? x : activation.value("alpha", 1.0) * std::expm1(x);
  if (kind == "silu") return x * sigmoid(x);
  if (kind == "gelu") return 0.5 * x * (1 + std::erf(x / std::sqrt(2.0)));
  if (kind == "gelu_tanh") return 0.5 * x * (1 + std::tanh(std::sqrt(2 / M_PI) * (x + 0.044715 * x * x * x)));
  if (kind == "tanh") return std::tanh(x);
  if (kind == "sigmoid") return sigmoid(x);
  if (kind == "hardtanh") return std::min(std::max(x, activation.value("min_val", -1.0)), activation.value("max_val", 1.0));
  ADD_FAILURE() << "no reference for " << kind;
  return x;
}

std::vector<Tensor> reference(const StepCase& c) {
  if (c.op == Op::conv) return {conv(c)};
  if (c.op == Op::conv_transpose) return {conv_transpose(c)};
  if (c.op == Op::linear) return {linear(c)};
  if (c.op == Op::matmul) return {matmul(c)};
  if (c.op == Op::max_pool || c.op == Op::avg_pool) return {pool(c)};
  if (c.op == Op::adaptive_avg_pool) return {adaptive(c)};
  return reference_recurrent(c);
}

}  // namespace sheaf::test
