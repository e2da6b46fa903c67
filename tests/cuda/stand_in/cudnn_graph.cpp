// The stand-in cuDNN computes a graph on the host's memory, operation by operation, with intermediates of f32.
#include "tests/cuda/stand_in/cudnn.h"
#include "tests/cuda/stand_in/numbers.h"

#include <algorithm>
#include <cmath>

namespace stand_in {
namespace {

using Dims = std::vector<int64_t>;

/// A tensor's values in the order of its dimensions.
struct Values {
  Dims dims;
  std::vector<float> all;
};

int64_t count_of(const Dims& dims) {
  int64_t count = 1;
  for (const int64_t size : dims) count *= size;
  return count;
}
/// The index in each dimension.
Dims index_of(int64_t number, const Dims& dims) {
  Dims index(dims.size());
  for (size_t i = dims.size(); i-- > 0; number /= dims[i]) index[i] = number % dims[i];
  return index;
}
/// In a tensor that is broadcast where its size is 1.
size_t number_of(const Dims& index, const Dims& dims) {
  int64_t number = 0;
  for (size_t i = 0; i < dims.size(); ++i) number = number * dims[i] + (dims[i] == 1 ? 0 : index[i]);
  return static_cast<size_t>(number);
}

class Computation {
 public:
  Computation(const DnnDescriptor& configuration, const std::map<int64_t, char*>& memory) : memory_(memory) {
    const DnnRef engine = configuration.at(CUDNN_ATTR_ENGINECFG_ENGINE);
    for (const auto note : engine->list<cudnnBackendNumericalNote_t>(CUDNN_ATTR_ENGINE_NUMERICAL_NOTE))
      tensor_cores_ |= note == CUDNN_NUMERICAL_NOTE_TENSOR_CORE;
    backwards_ = configuration.at(CUDNN_ATTR_ENGINECFG_KNOB_CHOICES)->get<int64_t>(CUDNN_ATTR_KNOB_CHOICE_KNOB_VALUE) % 2 == 1;
    for (const DnnRef& operation :
         engine->at(CUDNN_ATTR_ENGINE_OPERATION_GRAPH)->attributes.at(CUDNN_ATTR_OPERATIONGRAPH_OPS).descriptors)
      run(*operation);
  }

 private:
  void run(const DnnDescriptor& operation) {
    switch (operation.type) {
      case CUDNN_BACKEND_OPERATION_CONVOLUTION_FORWARD_DESCRIPTOR:
        return convolve(operation.at(CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_X),
                        operation.at(CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_W),
                        operation.at(CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_Y),
                        *operation.at(CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_CONV_DESC), 2);
      case CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_DATA_DESCRIPTOR:
        return convolve(operation.at(CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_DX),
                        operation.at(CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_W),
                        operation.at(CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_DY),
                        *operation.at(CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_CONV_DESC), 0);
      case CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_FILTER_DESCRIPTOR:
        return convolve(operation.at(CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_X),
                        operation.at(CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_DW),
                        operation.at(CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_DY),
                        *operation.at(CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_CONV_DESC), 1);
      case CUDNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR: return pointwise(operation);
      case CUDNN_BACKEND_OPERATION_GEN_STATS_DESCRIPTOR: return statistics(operation);
      case CUDNN_BACKEND_OPERATION_BN_BWD_WEIGHTS_DESCRIPTOR: return norm_weights(operation);
      default: fault("cudnnBackendExecute: this stand-in computes no operation of type " + std::to_string(operation.type));
    }
  }

  const Values& value(const DnnRef& tensor) {
    const auto id = tensor->get<int64_t>(CUDNN_ATTR_TENSOR_UNIQUE_ID);
    if (const auto known = values_.find(id); known != values_.end()) return known->second;
    Values values{tensor->list<int64_t>(CUDNN_ATTR_TENSOR_DIMENSIONS), {}};
    for_elements(*tensor, [&](char* at, cudnnDataType_t type) {
      uint16_t narrow = 0;
      float wide = 0;
      if (type == CUDNN_DATA_FLOAT) std::memcpy(&wide, at, 4);
      else std::memcpy(&narrow, at, 2);
      if (type != CUDNN_DATA_FLOAT) wide = type == CUDNN_DATA_HALF ? from_float16(narrow) : from_bfloat16(narrow);
      values.all.push_back(wide);
    });
    return values_[id] = std::move(values);
  }

  void give(const DnnRef& tensor, std::vector<float> all) {
    const auto type = tensor->get<cudnnDataType_t>(CUDNN_ATTR_TENSOR_DATA_TYPE);
    for (float& one : all) {
      if (type == CUDNN_DATA_HALF) one = from_float16(to_float16(one));
      if (type == CUDNN_DATA_BFLOAT16) one = from_bfloat16(to_bfloat16(one));
    }
    if (!tensor->get<bool>(CUDNN_ATTR_TENSOR_IS_VIRTUAL)) {
      size_t i = 0;
      for_elements(*tensor, [&](char* at, cudnnDataType_t) {
        const uint16_t narrow = type == CUDNN_DATA_HALF ? to_float16(all[i]) : to_bfloat16(all[i]);
        if (type == CUDNN_DATA_FLOAT) std::memcpy(at, &all[i], 4);
        else std::memcpy(at, &narrow, 2);
        ++i;
      });
    }
    values_[tensor->get<int64_t>(CUDNN_ATTR_TENSOR_UNIQUE_ID)] = {tensor->list<int64_t>(CUDNN_ATTR_TENSOR_DIMENSIONS),
                                                                  std::move(all)};
  }

  template <typename Use>
  void for_elements(const DnnDescriptor& tensor, Use use) {
    const auto dims = tensor.list<int64_t>(CUDNN_ATTR_TENSOR_DIMENSIONS),
               strides = tensor.list<int64_t>(CUDNN_ATTR_TENSOR_STRIDES);
    const auto type = tensor.get<cudnnDataType_t>(CUDNN_ATTR_TENSOR_DATA_TYPE);
    char* begin = memory_.at(tensor.get<int64_t>(CUDNN_ATTR_TENSOR_UNIQUE_ID));
    for (int64_t i = 0; i < count_of(dims); ++i) {
      const Dims index = index_of(i, dims);
      int64_t at = 0;
      for (size_t k = 0; k < dims.size(); ++k) at += index[k] * strides[k];
      use(begin + at * static_cast<int64_t>(bytes_of(type)), type);
    }
  }

  /// Adds products of two of x (0), weight (1), y (2) to the third, `result`.
  void convolve(const DnnRef& x, const DnnRef& weight, const DnnRef& y, const DnnDescriptor& window, int result) {
    const DnnRef tensors[] = {x, weight, y};
    Dims dims[3];
    std::vector<float> all[3];
    for (int i = 0; i < 3; ++i) {
      dims[i] = tensors[i]->list<int64_t>(CUDNN_ATTR_TENSOR_DIMENSIONS);
      if (i == result) all[i].resize(static_cast<size_t>(count_of(dims[i])));
      else all[i] = value(tensors[i]).all;
      if (i != result && tensor_cores_)
        for (float& one : all[i]) one = to_tf32(one);
    }
    const auto padding = window.list<int64_t>(CUDNN_ATTR_CONVOLUTION_PRE_PADDINGS),
               dilation = window.list<int64_t>(CUDNN_ATTR_CONVOLUTION_DILATIONS),
               stride = window.list<int64_t>(CUDNN_ATTR_CONVOLUTION_FILTER_STRIDES);
    const int64_t groups = dims[0][1] / dims[1][1], outputs = dims[1][0] / groups;
    const int64_t taps = count_of(dims[1]) / dims[1][0], pairs = count_of(dims[2]) * taps;
    const Dims tap_dims(dims[1].begin() + 1, dims[1].end());
    for (int64_t n = 0; n < pairs; ++n) {
      const int64_t pair = backwards_ ? pairs - 1 - n : n;
      const Dims at_y = index_of(pair / taps, dims[2]), tap = index_of(pair % taps, tap_dims);
      Dims at_x = at_y, at_weight{at_y[1]};
      at_weight.insert(at_weight.end(), tap.begin(), tap.end());
      at_x[1] = at_y[1] / outputs * dims[1][1] + tap[0];
      bool inside = true;
      for (size_t s = 0; s < padding.size(); ++s) {
        at_x[s + 2] = at_y[s + 2] * stride[s] - padding[s] + tap[s + 1] * dilation[s];
        inside &= at_x[s + 2] >= 0 && at_x[s + 2] < dims[0][s + 2];
      }
      if (!inside) continue;
      const auto flat = [](const Dims& index, const Dims& of) {
        int64_t number = 0;
        for (size_t i = 0; i < of.size(); ++i) number = number * of[i] + index[i];
        return static_cast<size_t>(number);
      };
      const size_t at[] = {flat(at_x, dims[0]), flat(at_weight, dims[1]), static_cast<size_t>(pair / taps)};
      const int a = result == 0 ? 1 : 0, b = result == 2 ? 1 : 2;
      all[result][at[result]] += all[a][at[a]] * all[b][at[b]];
    }
    give(tensors[result], std::move(all[result]));
  }

  static float apply(const DnnDescriptor& function, cudnnPointwiseMode_t mode, float a, float b) {
    const auto lower = static_cast<float>(function.get<double>(CUDNN_ATTR_POINTWISE_RELU_LOWER_CLIP, 0));
    const auto slope = static_cast<float>(function.get<double>(CUDNN_ATTR_POINTWISE_RELU_LOWER_CLIP_SLOPE, 0));
    switch (mode) {
      case CUDNN_POINTWISE_IDENTITY: return a;
      case CUDNN_POINTWISE_ADD: return a + b;
      case CUDNN_POINTWISE_SUB: return a - b;
      case CUDNN_POINTWISE_MUL: return a * b;
      case CUDNN_POINTWISE_RELU_FWD: return a > lower || std::isnan(a) ? a : lower + slope * (a - lower);
      case CUDNN_POINTWISE_RELU_BWD: return b > lower ? a : slope * a;
      case CUDNN_POINTWISE_ELU_FWD:
        return a > 0 ? a : static_cast<float>(function.get<double>(CUDNN_ATTR_POINTWISE_ELU_ALPHA, 1)) * std::expm1(a);
      case CUDNN_POINTWISE_SWISH_FWD: return a / (1 + std::exp(-a));
      case CUDNN_POINTWISE_GELU_FWD: return a / 2 * (1 + std::erf(a / std::sqrt(2.F)));
      case CUDNN_POINTWISE_GELU_APPROX_TANH_FWD: return a / 2 * (1 + std::tanh(0.7978845608F * (a + 0.044715F * a * a * a)));
      case CUDNN_POINTWISE_TANH_FWD: return std::tanh(a);
      case CUDNN_POINTWISE_SIGMOID_FWD: return 1 / (1 + std::exp(-a));
      default: fault("cudnnBackendExecute: this stand-in computes no pointwise mode " + std::to_string(mode)); return NAN;
    }
  }

  void pointwise(const DnnDescriptor& operation) {
    const DnnRef function = operation.at(CUDNN_ATTR_OPERATION_POINTWISE_PW_DESCRIPTOR);
    const bool backward = operation.has(CUDNN_ATTR_OPERATION_POINTWISE_DXDESC);
    // A gradient's dy is the first operand, x the second.
    const DnnRef result = operation.at(backward ? CUDNN_ATTR_OPERATION_POINTWISE_DXDESC : CUDNN_ATTR_OPERATION_POINTWISE_YDESC),
                 first = operation.at(backward ? CUDNN_ATTR_OPERATION_POINTWISE_DYDESC : CUDNN_ATTR_OPERATION_POINTWISE_XDESC),
                 second = operation.at(backward ? CUDNN_ATTR_OPERATION_POINTWISE_XDESC : CUDNN_ATTR_OPERATION_POINTWISE_BDESC);
    const Dims dims = result->list<int64_t>(CUDNN_ATTR_TENSOR_DIMENSIONS);
    const Values a = value(first), b = second ? value(second) : Values{Dims(dims.size(), 1), {0}};
    std::vector<float> y(static_cast<size_t>(count_of(dims)));
    const auto mode = function->get<cudnnPointwiseMode_t>(CUDNN_ATTR_POINTWISE_MODE);
    for (size_t i = 0; i < y.size(); ++i) {
      const Dims index = index_of(static_cast<int64_t>(i), dims);
      y[i] = apply(*function, mode, a.all[number_of(index, a.dims)], b.all[number_of(index, b.dims)]);
    }
    give(result, std::move(y));
  }

  /// By channel, of what `term` gives for an element's number.
  template <typename Term>
  std::vector<float> sums(const Dims& dims, Term term) {
    std::vector<double> wide(static_cast<size_t>(dims[1]));
    for (int64_t i = 0; i < count_of(dims); ++i)
      wide[static_cast<size_t>(index_of(i, dims)[1])] += term(static_cast<size_t>(i));
    return {wide.begin(), wide.end()};
  }

  void statistics(const DnnDescriptor& operation) {
    const Values x = value(operation.at(CUDNN_ATTR_OPERATION_GENSTATS_XDESC));
    give(operation.at(CUDNN_ATTR_OPERATION_GENSTATS_SUMDESC), sums(x.dims, [&](size_t i) { return double(x.all[i]); }));
    give(operation.at(CUDNN_ATTR_OPERATION_GENSTATS_SQSUMDESC),
         sums(x.dims, [&](size_t i) { return double(x.all[i]) * x.all[i]; }));
  }

  /// dx = dy · by_dy + x · by_x + constant is the gradient of the norm by x.
  void norm_weights(const DnnDescriptor& operation) {
    const Values x = value(operation.at(CUDNN_ATTR_OPERATION_BN_BWD_WEIGHTS_X_DESC)),
                 dy = value(operation.at(CUDNN_ATTR_OPERATION_BN_BWD_WEIGHTS_DY_DESC));
    const auto mean = value(operation.at(CUDNN_ATTR_OPERATION_BN_BWD_WEIGHTS_MEAN_DESC)).all,
               inverse = value(operation.at(CUDNN_ATTR_OPERATION_BN_BWD_WEIGHTS_INVSTD_DESC)).all,
               weight = value(operation.at(CUDNN_ATTR_OPERATION_BN_BWD_WEIGHTS_BN_SCALE_DESC)).all;
    const auto channel = [&](size_t i) { return static_cast<size_t>(index_of(static_cast<int64_t>(i), x.dims)[1]); };
    const auto dbias = sums(x.dims, [&](size_t i) { return double(dy.all[i]); });
    const auto dweight =
        sums(x.dims, [&](size_t i) { return double(dy.all[i]) * (double(x.all[i]) - mean[channel(i)]) * inverse[channel(i)]; });
    const double count = double(count_of(x.dims)) / double(x.dims[1]);
    std::vector<float> by_dy, by_x, constant;
    for (size_t c = 0; c < mean.size(); ++c) {
      const double factor = double(weight[c]) * inverse[c], slope = -factor * inverse[c] * dweight[c] / count;
      by_dy.push_back(float(factor));
      by_x.push_back(float(slope));
      constant.push_back(float(-factor * dbias[c] / count - slope * mean[c]));
    }
    give(operation.at(CUDNN_ATTR_OPERATION_BN_BWD_WEIGHTS_DBN_SCALE_DESC), dweight);
    give(operation.at(CUDNN_ATTR_OPERATION_BN_BWD_WEIGHTS_DBN_BIAS_DESC), dbias);
    give(operation.at(CUDNN_ATTR_OPERATION_BN_BWD_WEIGHTS_EQ_DY_SCALE_DESC), by_dy);
    give(operation.at(CUDNN_ATTR_OPERATION_BN_BWD_WEIGHTS_EQ_X_SCALE_DESC), by_x);
    give(operation.at(CUDNN_ATTR_OPERATION_BN_BWD_WEIGHTS_EQ_BIAS), constant);
  }

  const std::map<int64_t, char*>& memory_;
  std::map<int64_t, Values> values_;
  bool tensor_cores_ = false, backwards_ = false;
};

}  // namespace

void compute(const DnnDescriptor& configuration, const std::map<int64_t, char*>& memory) { Computation(configuration, memory); }

}  // namespace stand_in
