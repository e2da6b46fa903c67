#include "tests/sim/joined_convolution.h"

#include "runtime/cpu/ops/elements.h"
#include "runtime/plan/op_list.h"
#include "runtime/steps/conv_shape.h"

#include <cmath>
#include <functional>

namespace sheaf::sim {
namespace {

/// Plain elements as numbers, and numbers rounded to elements.
struct Elements {
  DType dtype = DType::float32;
  void* bytes = nullptr;

  float operator[](int64_t i) const {
    if (dtype == DType::bfloat16) return float(static_cast<const BFloat16*>(bytes)[i]);
    if (dtype == DType::float16) return float(static_cast<const _Float16*>(bytes)[i]);
    return static_cast<const float*>(bytes)[i];
  }
  void put(int64_t i, double value) const {
    if (dtype == DType::bfloat16) static_cast<BFloat16*>(bytes)[i] = BFloat16(float(value));
    else if (dtype == DType::float16) static_cast<_Float16*>(bytes)[i] = static_cast<_Float16>(float(value));
    else static_cast<float*>(bytes)[i] = float(value);
  }
  explicit operator bool() const { return bytes != nullptr; }
};

/// An operation's operands by role, and its results by number, while it runs.
struct Operands {
  Operands(const PrepareRequest& request, void* const* buffers) : request(request), buffers(buffers) {}
  Elements operator()(std::string_view role) const {
    for (size_t i = 0; i < request.step.roles.size(); ++i)
      if (request.step.roles[i] == role) return {request.inputs[i].dtype, buffers[i]};
    return {};
  }
  Elements result(size_t i) const { return {request.outputs[i].dtype, buffers[request.inputs.size() + i]}; }

  const PrepareRequest& request;
  void* const* buffers;
};

/// A request that outlives its caller's, and what is done for it.
class Loops final : public Executable {
 public:
  using Work = std::function<void(const Operands&)>;
  Loops(const PrepareRequest& request, Work work)
      : step_(request.step),
        inputs_(request.inputs.begin(), request.inputs.end()),
        outputs_(request.outputs.begin(), request.outputs.end()),
        request_{step_, request.plan, inputs_, outputs_, 1, false, {}},
        work_(std::move(work)) {}
  void run(void* const* buffers, void*) override { work_({request_, buffers}); }

 private:
  Step step_;
  std::vector<TensorSpec> inputs_, outputs_;
  PrepareRequest request_;
  Work work_;
};

/// Positions within an image or a kernel, in order.
class Places {
 public:
  explicit Places(std::vector<int64_t> sizes) : sizes_(std::move(sizes)) {}
  int64_t count() const { return product(sizes_, 0, sizes_.size()); }
  std::vector<int64_t> at(int64_t i) const {
    std::vector<int64_t> place(sizes_.size());
    for (size_t d = sizes_.size(); d-- > 0; i /= sizes_[d]) place[d] = i % sizes_[d];
    return place;
  }
  /// -1 outside.
  int64_t index(const std::vector<int64_t>& place) const {
    int64_t i = 0;
    for (size_t d = 0; d < sizes_.size(); ++d) {
      if (place[d] < 0 || place[d] >= sizes_[d]) return -1;
      i = i * sizes_[d] + place[d];
    }
    return i;
  }

 private:
  std::vector<int64_t> sizes_;
};

/// All products of a convolution: of which elements of x, weight and y.
void over_products(const ConvShape& shape, const Dims& weight,
                   const std::function<void(int64_t, int64_t, int64_t)>& product_of) {
  const Places x(Dims(shape.x.begin() + 2, shape.x.end())), y(Dims(shape.y.begin() + 2, shape.y.end())),
      taps(Dims(weight.begin() + 2, weight.end()));
  for (int64_t place = 0; place < y.count(); ++place) {
    for (int64_t tap = 0; tap < taps.count(); ++tap) {
      auto from = y.at(place);
      const auto offset = taps.at(tap);
      for (size_t d = 0; d < from.size(); ++d)
        from[d] = from[d] * shape.stride[d] - shape.padding_begin[d] + offset[d] * shape.dilation[d];
      const int64_t source = x.index(from);
      if (source < 0) continue;
      for (int64_t n = 0; n < shape.y[0]; ++n)
        for (int64_t o = 0; o < weight[0]; ++o)
          for (int64_t i = 0; i < weight[1]; ++i)
            product_of((n * weight[1] + i) * x.count() + source, (o * weight[1] + i) * taps.count() + tap,
                       (n * weight[0] + o) * y.count() + place);
    }
  }
}

int64_t channel_of(const Dims& dims, int64_t i) { return i / product(dims, 2, dims.size()) % dims[1]; }

/// What the convolution reads: x, normalised and activated where there are factors, rounded to x's type.
std::vector<float> front(const Operands& operands, const Dims& dims) {
  const Elements x = operands("x"), factors = operands("x_factors");
  std::vector<float> read(size_t(product(dims, 0, dims.size())));
  float rounded = 0;
  for (int64_t i = 0; i < int64_t(read.size()); ++i) {
    const int64_t c = channel_of(dims, i);
    const float value = factors ? std::max(x[i] * factors[c] + factors[dims[1] + c], 0.0F) : x[i];
    const Elements one{x.dtype, &rounded};
    one.put(0, value);
    read[size_t(i)] = one[0];
  }
  return read;
}

void run_forward(const Operands& operands, const ConvShape& shape, const Dims& weight, double eps) {
  const auto x = front(operands, shape.x);
  std::vector<double> y(size_t(product(shape.y, 0, shape.y.size())));
  const Elements w = operands("weight");
  over_products(shape, weight, [&](int64_t i, int64_t k, int64_t o) { y[size_t(o)] += double(x[size_t(i)]) * w[k]; });
  const int64_t channels = shape.y[1];
  std::vector<double> sum(size_t(channels), 0.0), square(size_t(channels), 0.0);
  for (size_t i = 0; i < y.size(); ++i) {
    const auto c = size_t(channel_of(shape.y, int64_t(i)));
    operands.result(0).put(int64_t(i), y[i]);
    sum[c] += y[i];
    square[c] += y[i] * y[i];
  }
  const double count = double(y.size()) / double(channels);
  const Elements bias = operands("x_bias"), scale = operands("norm_weight"), shift = operands("norm_bias");
  for (int64_t c = 0; c < channels; ++c) {
    const double mean = sum[size_t(c)] / count, var = std::max(square[size_t(c)] / count - mean * mean, 0.0);
    const double inverse = 1 / std::sqrt(var + eps);
    operands.result(1).put(c, mean + (bias ? bias[c] : 0));
    operands.result(2).put(c, var);
    if (operands.request.outputs.size() < 4) continue;
    operands.result(3).put(c, mean);
    operands.result(3).put(channels + c, inverse);
    if (operands.request.outputs.size() < 5) continue;
    const Elements factors = operands.result(4);
    factors.put(c, inverse * scale[c]);
    factors.put(channels + c, shift[c] - mean * factors[c]);
  }
}

void run_backward_data(const Operands& operands, const ConvShape& shape, const Dims& weight) {
  const Elements dy = operands("dy"), w = operands("weight"), x = operands("x"), moments = operands("moments");
  const Elements scale = operands("norm_weight"), shift = operands("norm_bias");
  const Elements residual = operands("residual"), more = operands("dy2");
  std::vector<double> dx(size_t(product(shape.x, 0, shape.x.size())));
  over_products(shape, weight, [&](int64_t i, int64_t k, int64_t o) { dx[size_t(i)] += double(dy[o]) * w[k]; });
  const int64_t channels = shape.x[1];
  std::vector<double> sum(size_t(channels), 0.0), along(size_t(channels), 0.0);
  const Elements gradient = operands.result(0);
  for (int64_t i = 0; i < int64_t(dx.size()); ++i) {
    const int64_t c = channel_of(shape.x, i);
    const double normal = (double(x[i]) - moments[c]) * moments[channels + c];
    const double passes = normal * scale[c] + shift[c] + (residual ? residual[i] : 0);
    gradient.put(i, passes > 0 ? dx[size_t(i)] + (more ? more[i] : 0) : 0);
    sum[size_t(c)] += gradient[i];
    along[size_t(c)] += gradient[i] * normal;
  }
  const double count = double(dx.size()) / double(channels);
  for (int64_t c = 0; c < channels; ++c) {
    const double mean = moments[c], inverse = moments[channels + c], by_dy = scale[c] * inverse;
    const double by_x = -by_dy * inverse * along[size_t(c)] / count;
    operands.result(1).put(c, along[size_t(c)]);
    operands.result(2).put(c, sum[size_t(c)]);
    operands.result(3).put(c, by_dy);
    operands.result(3).put(channels + c, by_x);
    operands.result(3).put(2 * channels + c, -by_dy * sum[size_t(c)] / count - by_x * mean);
  }
}

void run_backward_weight(const Operands& operands, const ConvShape& shape, const Dims& weight) {
  const auto x = front(operands, shape.x);
  const Elements dy = operands("dy");
  std::vector<double> dweight(size_t(product(weight, 0, weight.size())));
  over_products(shape, weight, [&](int64_t i, int64_t k, int64_t o) { dweight[size_t(k)] += double(x[size_t(i)]) * dy[o]; });
  for (size_t k = 0; k < dweight.size(); ++k) operands.result(0).put(int64_t(k), dweight[k]);
}

/// The norm by statistics that are there.
void run_norm(const Operands& operands, const Dims& dims, double eps, bool relu) {
  const Elements x = operands("x"), mean = operands("mean"), var = operands("var"), bias = operands("x_bias");
  const Elements scale = operands("weight"), shift = operands("bias"), added = operands("residual");
  for (int64_t i = 0; i < product(dims, 0, dims.size()); ++i) {
    const int64_t c = channel_of(dims, i);
    double value = (double(x[i]) - mean[c] + (bias ? bias[c] : 0)) / std::sqrt(var[c] + eps);
    if (scale) value = value * scale[c] + shift[c];
    if (added) value += added[i];
    const bool passes = value > 0 || value != value;
    operands.result(0).put(i, !relu || passes ? value : 0);
    if (operands.request.outputs.size() > 1) static_cast<uint8_t*>(operands.result(1).bytes)[i] = passes;
  }
}

void run_slopes(const Operands& operands, const Dims& dims) {
  const Elements x = operands("x"), dy = operands("dy"), slopes = operands("slopes");
  for (int64_t i = 0; i < product(dims, 0, dims.size()); ++i) {
    const int64_t c = channel_of(dims, i);
    operands.result(0).put(i, double(dy[i]) * slopes[c] + double(x[i]) * slopes[dims[1] + c] + slopes[2 * dims[1] + c]);
  }
}

Loops::Work work_of(const StepOperands& operands) {
  const PrepareRequest& request = operands.request;
  const auto& attributes = request.step.attributes;
  switch (request.step.op) {
    case Op::conv: {
      const ConvShape shape = conv_shape(operands);
      return [shape, weight = operands.operand("weight").dims,
              eps = attributes.at("statistics").get<double>()](const Operands& at) { run_forward(at, shape, weight, eps); };
    }
    case Op::conv_backward_data: {
      const Dims& weight = operands.operand("weight").dims;
      const ConvShape shape = conv_shape(operands, request.outputs[0].dims, weight, operands.operand("dy").dims, "dy");
      return [shape, weight](const Operands& at) { run_backward_data(at, shape, weight); };
    }
    case Op::conv_backward_weight: {
      const Dims& weight = request.outputs[0].dims;
      const ConvShape shape = conv_shape(operands, operands.operand("x").dims, weight, operands.operand("dy").dims, "dy");
      return [shape, weight](const Operands& at) { run_backward_weight(at, shape, weight); };
    }
    case Op::batch_norm_train: {
      const bool relu = attributes.contains("activation");
      return [dims = request.inputs[0].dims, eps = attributes.at("eps").get<double>(), relu](const Operands& at) {
        run_norm(at, dims, eps, relu);
      };
    }
    default: return [dims = request.inputs[0].dims](const Operands& at) { run_slopes(at, dims); };
  }
}

}  // namespace

bool is_joined(const Step& step) {
  const auto has = [&](std::string_view role) {
    return std::find(step.roles.begin(), step.roles.end(), role) != step.roles.end();
  };
  switch (step.op) {
    case Op::conv: return step.attributes.contains("statistics");
    case Op::conv_backward_data: return has("moments");
    case Op::conv_backward_weight: return has("x_factors");
    case Op::batch_norm_train: return has("mean");
    case Op::batch_norm_backward: return has("slopes");
    default: return false;
  }
}

Result<Prepared> prepare_joined(const PrepareRequest& request) {
  try {
    const StepOperands operands(request);
    Prepared prepared;
    prepared.inputs.assign(request.inputs.begin(), request.inputs.end());
    prepared.outputs.assign(request.outputs.begin(), request.outputs.end());
    if (request.step.op == Op::batch_norm_train && request.outputs.size() > 1)
      prepared.outputs[1].bytes = size_t(element_count(request.inputs[0]));
    prepared.executable = std::make_unique<Loops>(request, work_of(operands));
    return prepared;
  } catch (const OperationError& error) {
    return Error(error.what());
  }
}

}  // namespace sheaf::sim
