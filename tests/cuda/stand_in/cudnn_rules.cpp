// The stand-in cuDNN: which attributes its descriptors have, and what makes them whole.
#include "tests/cuda/stand_in/cudnn.h"

#include <algorithm>

namespace stand_in {
namespace {

struct Rule {
  cudnnBackendDescriptorType_t of;
  cudnnBackendAttributeName_t name;
  cudnnBackendAttributeType_t type;
  int64_t most = 1;
  bool required = true;
};
constexpr int64_t kMostDims = 8, kMany = 1 << 24;
constexpr auto kOther = false;  // need not be set

// clang-format off
constexpr Rule rules[] = {
    {CUDNN_BACKEND_TENSOR_DESCRIPTOR, CUDNN_ATTR_TENSOR_DATA_TYPE, CUDNN_TYPE_DATA_TYPE},
    {CUDNN_BACKEND_TENSOR_DESCRIPTOR, CUDNN_ATTR_TENSOR_DIMENSIONS, CUDNN_TYPE_INT64, kMostDims},
    {CUDNN_BACKEND_TENSOR_DESCRIPTOR, CUDNN_ATTR_TENSOR_STRIDES, CUDNN_TYPE_INT64, kMostDims},
    {CUDNN_BACKEND_TENSOR_DESCRIPTOR, CUDNN_ATTR_TENSOR_UNIQUE_ID, CUDNN_TYPE_INT64},
    {CUDNN_BACKEND_TENSOR_DESCRIPTOR, CUDNN_ATTR_TENSOR_BYTE_ALIGNMENT, CUDNN_TYPE_INT64},
    {CUDNN_BACKEND_TENSOR_DESCRIPTOR, CUDNN_ATTR_TENSOR_IS_VIRTUAL, CUDNN_TYPE_BOOLEAN, 1, kOther},
    {CUDNN_BACKEND_CONVOLUTION_DESCRIPTOR, CUDNN_ATTR_CONVOLUTION_COMP_TYPE, CUDNN_TYPE_DATA_TYPE},
    {CUDNN_BACKEND_CONVOLUTION_DESCRIPTOR, CUDNN_ATTR_CONVOLUTION_CONV_MODE, CUDNN_TYPE_CONVOLUTION_MODE},
    {CUDNN_BACKEND_CONVOLUTION_DESCRIPTOR, CUDNN_ATTR_CONVOLUTION_SPATIAL_DIMS, CUDNN_TYPE_INT64},
    {CUDNN_BACKEND_CONVOLUTION_DESCRIPTOR, CUDNN_ATTR_CONVOLUTION_PRE_PADDINGS, CUDNN_TYPE_INT64, kMostDims},
    {CUDNN_BACKEND_CONVOLUTION_DESCRIPTOR, CUDNN_ATTR_CONVOLUTION_POST_PADDINGS, CUDNN_TYPE_INT64, kMostDims},
    {CUDNN_BACKEND_CONVOLUTION_DESCRIPTOR, CUDNN_ATTR_CONVOLUTION_DILATIONS, CUDNN_TYPE_INT64, kMostDims},
    {CUDNN_BACKEND_CONVOLUTION_DESCRIPTOR, CUDNN_ATTR_CONVOLUTION_FILTER_STRIDES, CUDNN_TYPE_INT64, kMostDims},
    {CUDNN_BACKEND_POINTWISE_DESCRIPTOR, CUDNN_ATTR_POINTWISE_MODE, CUDNN_TYPE_POINTWISE_MODE},
    {CUDNN_BACKEND_POINTWISE_DESCRIPTOR, CUDNN_ATTR_POINTWISE_MATH_PREC, CUDNN_TYPE_DATA_TYPE},
    {CUDNN_BACKEND_POINTWISE_DESCRIPTOR, CUDNN_ATTR_POINTWISE_NAN_PROPAGATION, CUDNN_TYPE_NAN_PROPOGATION, 1, kOther},
    {CUDNN_BACKEND_POINTWISE_DESCRIPTOR, CUDNN_ATTR_POINTWISE_RELU_LOWER_CLIP, CUDNN_TYPE_DOUBLE, 1, kOther},
    {CUDNN_BACKEND_POINTWISE_DESCRIPTOR, CUDNN_ATTR_POINTWISE_RELU_UPPER_CLIP, CUDNN_TYPE_DOUBLE, 1, kOther},
    {CUDNN_BACKEND_POINTWISE_DESCRIPTOR, CUDNN_ATTR_POINTWISE_RELU_LOWER_CLIP_SLOPE, CUDNN_TYPE_DOUBLE, 1, kOther},
    {CUDNN_BACKEND_POINTWISE_DESCRIPTOR, CUDNN_ATTR_POINTWISE_ELU_ALPHA, CUDNN_TYPE_DOUBLE, 1, kOther},
    {CUDNN_BACKEND_POINTWISE_DESCRIPTOR, CUDNN_ATTR_POINTWISE_SWISH_BETA, CUDNN_TYPE_DOUBLE, 1, kOther},
#define OPERAND(operation, name) {CUDNN_BACKEND_OPERATION_##operation##_DESCRIPTOR, CUDNN_ATTR_OPERATION_##name, CUDNN_TYPE_BACKEND_DESCRIPTOR}
#define OPTIONAL(operation, name) {CUDNN_BACKEND_OPERATION_##operation##_DESCRIPTOR, CUDNN_ATTR_OPERATION_##name, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, kOther}
#define NUMBER(operation, name, type) {CUDNN_BACKEND_OPERATION_##operation##_DESCRIPTOR, CUDNN_ATTR_OPERATION_##name, type}
    OPERAND(CONVOLUTION_FORWARD, CONVOLUTION_FORWARD_X), OPERAND(CONVOLUTION_FORWARD, CONVOLUTION_FORWARD_W),
    OPERAND(CONVOLUTION_FORWARD, CONVOLUTION_FORWARD_Y), OPERAND(CONVOLUTION_FORWARD, CONVOLUTION_FORWARD_CONV_DESC),
    NUMBER(CONVOLUTION_FORWARD, CONVOLUTION_FORWARD_ALPHA, CUDNN_TYPE_FLOAT),
    NUMBER(CONVOLUTION_FORWARD, CONVOLUTION_FORWARD_BETA, CUDNN_TYPE_FLOAT),
    OPERAND(CONVOLUTION_BACKWARD_DATA, CONVOLUTION_BWD_DATA_DX), OPERAND(CONVOLUTION_BACKWARD_DATA, CONVOLUTION_BWD_DATA_W),
    OPERAND(CONVOLUTION_BACKWARD_DATA, CONVOLUTION_BWD_DATA_DY), OPERAND(CONVOLUTION_BACKWARD_DATA, CONVOLUTION_BWD_DATA_CONV_DESC),
    NUMBER(CONVOLUTION_BACKWARD_DATA, CONVOLUTION_BWD_DATA_ALPHA, CUDNN_TYPE_FLOAT),
    NUMBER(CONVOLUTION_BACKWARD_DATA, CONVOLUTION_BWD_DATA_BETA, CUDNN_TYPE_FLOAT),
    OPERAND(CONVOLUTION_BACKWARD_FILTER, CONVOLUTION_BWD_FILTER_X), OPERAND(CONVOLUTION_BACKWARD_FILTER, CONVOLUTION_BWD_FILTER_DY),
    OPERAND(CONVOLUTION_BACKWARD_FILTER, CONVOLUTION_BWD_FILTER_DW), OPERAND(CONVOLUTION_BACKWARD_FILTER, CONVOLUTION_BWD_FILTER_CONV_DESC),
    NUMBER(CONVOLUTION_BACKWARD_FILTER, CONVOLUTION_BWD_FILTER_ALPHA, CUDNN_TYPE_FLOAT),
    NUMBER(CONVOLUTION_BACKWARD_FILTER, CONVOLUTION_BWD_FILTER_BETA, CUDNN_TYPE_FLOAT),
    OPERAND(POINTWISE, POINTWISE_PW_DESCRIPTOR), OPERAND(POINTWISE, POINTWISE_XDESC), OPTIONAL(POINTWISE, POINTWISE_BDESC),
    OPTIONAL(POINTWISE, POINTWISE_YDESC), OPTIONAL(POINTWISE, POINTWISE_DXDESC), OPTIONAL(POINTWISE, POINTWISE_DYDESC),
    {CUDNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR, CUDNN_ATTR_OPERATION_POINTWISE_ALPHA1, CUDNN_TYPE_FLOAT, 1, kOther},
    {CUDNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR, CUDNN_ATTR_OPERATION_POINTWISE_ALPHA2, CUDNN_TYPE_FLOAT, 1, kOther},
    OPERAND(GEN_STATS, GENSTATS_XDESC), OPERAND(GEN_STATS, GENSTATS_SUMDESC), OPERAND(GEN_STATS, GENSTATS_SQSUMDESC),
    NUMBER(GEN_STATS, GENSTATS_MODE, CUDNN_TYPE_GENSTATS_MODE), NUMBER(GEN_STATS, GENSTATS_MATH_PREC, CUDNN_TYPE_DATA_TYPE),
    NUMBER(BN_BWD_WEIGHTS, BN_BWD_WEIGHTS_MATH_PREC, CUDNN_TYPE_DATA_TYPE),
    OPERAND(BN_BWD_WEIGHTS, BN_BWD_WEIGHTS_X_DESC), OPERAND(BN_BWD_WEIGHTS, BN_BWD_WEIGHTS_DY_DESC),
    OPERAND(BN_BWD_WEIGHTS, BN_BWD_WEIGHTS_MEAN_DESC), OPERAND(BN_BWD_WEIGHTS, BN_BWD_WEIGHTS_INVSTD_DESC),
    OPERAND(BN_BWD_WEIGHTS, BN_BWD_WEIGHTS_BN_SCALE_DESC), OPERAND(BN_BWD_WEIGHTS, BN_BWD_WEIGHTS_DBN_SCALE_DESC),
    OPERAND(BN_BWD_WEIGHTS, BN_BWD_WEIGHTS_DBN_BIAS_DESC), OPERAND(BN_BWD_WEIGHTS, BN_BWD_WEIGHTS_EQ_DY_SCALE_DESC),
    OPERAND(BN_BWD_WEIGHTS, BN_BWD_WEIGHTS_EQ_X_SCALE_DESC), OPERAND(BN_BWD_WEIGHTS, BN_BWD_WEIGHTS_EQ_BIAS),
    {CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR, CUDNN_ATTR_OPERATIONGRAPH_OPS, CUDNN_TYPE_BACKEND_DESCRIPTOR, 64},
    {CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR, CUDNN_ATTR_OPERATIONGRAPH_HANDLE, CUDNN_TYPE_HANDLE},
    {CUDNN_BACKEND_ENGINEHEUR_DESCRIPTOR, CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH, CUDNN_TYPE_BACKEND_DESCRIPTOR},
    {CUDNN_BACKEND_ENGINEHEUR_DESCRIPTOR, CUDNN_ATTR_ENGINEHEUR_MODE, CUDNN_TYPE_HEUR_MODE},
    {CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR, CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, kOther},
    {CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR, CUDNN_ATTR_EXECUTION_PLAN_HANDLE, CUDNN_TYPE_HANDLE, 1, kOther},
    {CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR, CUDNN_ATTR_EXECUTION_PLAN_JSON_REPRESENTATION, CUDNN_TYPE_CHAR, kMany, kOther},
    {CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR, CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS, CUDNN_TYPE_INT64, 64},
    {CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR, CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS, CUDNN_TYPE_VOID_PTR, 64},
    {CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR, CUDNN_ATTR_VARIANT_PACK_WORKSPACE, CUDNN_TYPE_VOID_PTR},
#undef OPERAND
#undef OPTIONAL
#undef NUMBER
};
// clang-format on

using Dims = std::vector<int64_t>;
Dims dims_of(const DnnRef& tensor) { return tensor->list<int64_t>(CUDNN_ATTR_TENSOR_DIMENSIONS); }

std::string misfit_of_tensor(const DnnDescriptor& tensor) {
  const auto dims = tensor.list<int64_t>(CUDNN_ATTR_TENSOR_DIMENSIONS),
             strides = tensor.list<int64_t>(CUDNN_ATTR_TENSOR_STRIDES);
  if (dims.empty() || dims.size() != strides.size()) return "a tensor with other dimensions than strides";
  for (size_t i = 0; i < dims.size(); ++i)
    if (dims[i] < 1 || strides[i] < 1) return "a tensor's dimension or stride below 1";
  const auto type = tensor.get<cudnnDataType_t>(CUDNN_ATTR_TENSOR_DATA_TYPE);
  if (bytes_of(type) == 0) return "this stand-in has no tensors of type " + std::to_string(type);
  const auto alignment = tensor.get<int64_t>(CUDNN_ATTR_TENSOR_BYTE_ALIGNMENT);
  if (alignment < 1 || (alignment & (alignment - 1)) != 0) return "a tensor's alignment is no power of 2";
  return {};
}

std::string misfit_of_convolution(const DnnDescriptor& convolution) {
  const auto count = static_cast<size_t>(convolution.get<int64_t>(CUDNN_ATTR_CONVOLUTION_SPATIAL_DIMS));
  for (const auto name : {CUDNN_ATTR_CONVOLUTION_PRE_PADDINGS, CUDNN_ATTR_CONVOLUTION_POST_PADDINGS,
                          CUDNN_ATTR_CONVOLUTION_DILATIONS, CUDNN_ATTR_CONVOLUTION_FILTER_STRIDES}) {
    const auto values = convolution.list<int64_t>(name);
    if (values.size() != count) return "a convolution's windows have other numbers of dimensions";
    const bool padding = name == CUDNN_ATTR_CONVOLUTION_PRE_PADDINGS || name == CUDNN_ATTR_CONVOLUTION_POST_PADDINGS;
    for (const int64_t value : values)
      if (value < (padding ? 0 : 1)) return "a convolution's window is out of range";
  }
  if (convolution.get<cudnnConvolutionMode_t>(CUDNN_ATTR_CONVOLUTION_CONV_MODE) != CUDNN_CROSS_CORRELATION)
    return "this stand-in has no flipped convolutions";
  return {};
}

std::string misfit_of_shapes(const DnnRef& x, const DnnRef& weight, const DnnRef& y, const DnnRef& convolution) {
  const Dims x_dims = dims_of(x), w_dims = dims_of(weight), y_dims = dims_of(y);
  const auto pre = convolution->list<int64_t>(CUDNN_ATTR_CONVOLUTION_PRE_PADDINGS),
             post = convolution->list<int64_t>(CUDNN_ATTR_CONVOLUTION_POST_PADDINGS),
             dilations = convolution->list<int64_t>(CUDNN_ATTR_CONVOLUTION_DILATIONS),
             strides = convolution->list<int64_t>(CUDNN_ATTR_CONVOLUTION_FILTER_STRIDES);
  if (x_dims.size() != pre.size() + 2 || w_dims.size() != x_dims.size() || y_dims.size() != x_dims.size())
    return "a convolution's tensors have other numbers of dimensions";
  if (x_dims[0] != y_dims[0] || y_dims[1] != w_dims[0] || x_dims[1] % w_dims[1] != 0 ||
      w_dims[0] % (x_dims[1] / w_dims[1]) != 0)
    return "a convolution's channels or rows don't fit";
  for (size_t i = 0; i < pre.size(); ++i) {
    const int64_t window = (w_dims[i + 2] - 1) * dilations[i] + 1;
    if (y_dims[i + 2] != (x_dims[i + 2] + pre[i] + post[i] - window) / strides[i] + 1)
      return "a convolution's y has other sizes than its window makes";
  }
  return {};
}

/// Each dimension of `operand` is that of `result`, or 1.
bool broadcasts(const DnnRef& operand, const DnnRef& result) {
  const Dims from = dims_of(operand), to = dims_of(result);
  if (from.size() != to.size()) return false;
  for (size_t i = 0; i < from.size(); ++i)
    if (from[i] != to[i] && from[i] != 1) return false;
  return true;
}

std::string misfit_of_pointwise(const DnnDescriptor& operation) {
  const bool backward = operation.has(CUDNN_ATTR_OPERATION_POINTWISE_DXDESC);
  const DnnRef y = operation.at(backward ? CUDNN_ATTR_OPERATION_POINTWISE_DXDESC : CUDNN_ATTR_OPERATION_POINTWISE_YDESC);
  if (!y) return "a pointwise operation without a result";
  if (backward != operation.has(CUDNN_ATTR_OPERATION_POINTWISE_DYDESC)) return "a pointwise gradient without dy";
  for (const auto name :
       {CUDNN_ATTR_OPERATION_POINTWISE_XDESC, CUDNN_ATTR_OPERATION_POINTWISE_BDESC, CUDNN_ATTR_OPERATION_POINTWISE_DYDESC})
    if (const DnnRef operand = operation.at(name); operand && !broadcasts(operand, y))
      return "a pointwise operand doesn't broadcast";
  return {};
}

std::string misfit_of_channels(const DnnDescriptor& operation, cudnnBackendAttributeName_t of,
                               std::initializer_list<cudnnBackendAttributeName_t> names) {
  const Dims x = dims_of(operation.at(of));
  Dims channels(x.size(), 1);
  channels[1] = x[1];
  for (const auto name : names)
    if (dims_of(operation.at(name)) != channels) return "a tensor of channels has other dimensions";
  return {};
}

}  // namespace

size_t size_of(cudnnBackendAttributeType_t type) {
  switch (type) {
    case CUDNN_TYPE_BOOLEAN: return sizeof(bool);
    case CUDNN_TYPE_CHAR: return 1;
    case CUDNN_TYPE_HANDLE:
    case CUDNN_TYPE_INT64:
    case CUDNN_TYPE_DOUBLE:
    case CUDNN_TYPE_VOID_PTR: return 8;
    default: return 4;
  }
}

size_t bytes_of(cudnnDataType_t type) {
  return type == CUDNN_DATA_FLOAT ? 4 : type == CUDNN_DATA_HALF || type == CUDNN_DATA_BFLOAT16 ? 2 : 0;
}

size_t extent_bytes(const DnnDescriptor& tensor) {
  const auto dims = tensor.list<int64_t>(CUDNN_ATTR_TENSOR_DIMENSIONS),
             strides = tensor.list<int64_t>(CUDNN_ATTR_TENSOR_STRIDES);
  int64_t last = 0;
  for (size_t i = 0; i < dims.size(); ++i) last += (dims[i] - 1) * strides[i];
  return static_cast<size_t>(last + 1) * bytes_of(tensor.get<cudnnDataType_t>(CUDNN_ATTR_TENSOR_DATA_TYPE));
}

std::string misfit(const DnnDescriptor& descriptor, cudnnBackendAttributeName_t name, cudnnBackendAttributeType_t type,
                   int64_t count) {
  const std::string what = "attribute " + std::to_string(name) + " of a descriptor of type " + std::to_string(descriptor.type);
  const auto rule = std::find_if(std::begin(rules), std::end(rules),
                                 [&](const Rule& one) { return one.of == descriptor.type && one.name == name; });
  if (rule == std::end(rules)) return what + " is none that this stand-in has";
  if (rule->type != type) return what + " has another type";
  return count < 1 || count > rule->most ? what + " with " + std::to_string(count) + " elements" : "";
}

std::string misfit(const DnnDescriptor& descriptor) {
  for (const Rule& rule : rules)
    if (rule.of == descriptor.type && rule.required && !descriptor.has(rule.name))
      return "a descriptor of type " + std::to_string(rule.of) + " without attribute " + std::to_string(rule.name);
  const auto at = [&](cudnnBackendAttributeName_t name) { return descriptor.at(name); };
  switch (descriptor.type) {
    case CUDNN_BACKEND_TENSOR_DESCRIPTOR: return misfit_of_tensor(descriptor);
    case CUDNN_BACKEND_CONVOLUTION_DESCRIPTOR: return misfit_of_convolution(descriptor);
    case CUDNN_BACKEND_OPERATION_CONVOLUTION_FORWARD_DESCRIPTOR:
      return misfit_of_shapes(at(CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_X), at(CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_W),
                              at(CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_Y),
                              at(CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_CONV_DESC));
    case CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_DATA_DESCRIPTOR:
      return misfit_of_shapes(at(CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_DX), at(CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_W),
                              at(CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_DY),
                              at(CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_CONV_DESC));
    case CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_FILTER_DESCRIPTOR:
      return misfit_of_shapes(
          at(CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_X), at(CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_DW),
          at(CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_DY), at(CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_CONV_DESC));
    case CUDNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR: return misfit_of_pointwise(descriptor);
    case CUDNN_BACKEND_OPERATION_GEN_STATS_DESCRIPTOR:
      return misfit_of_channels(descriptor, CUDNN_ATTR_OPERATION_GENSTATS_XDESC,
                                {CUDNN_ATTR_OPERATION_GENSTATS_SUMDESC, CUDNN_ATTR_OPERATION_GENSTATS_SQSUMDESC});
    case CUDNN_BACKEND_OPERATION_BN_BWD_WEIGHTS_DESCRIPTOR:
      return misfit_of_channels(
          descriptor, CUDNN_ATTR_OPERATION_BN_BWD_WEIGHTS_X_DESC,
          {CUDNN_ATTR_OPERATION_BN_BWD_WEIGHTS_MEAN_DESC, CUDNN_ATTR_OPERATION_BN_BWD_WEIGHTS_INVSTD_DESC,
           CUDNN_ATTR_OPERATION_BN_BWD_WEIGHTS_BN_SCALE_DESC, CUDNN_ATTR_OPERATION_BN_BWD_WEIGHTS_DBN_SCALE_DESC,
           CUDNN_ATTR_OPERATION_BN_BWD_WEIGHTS_DBN_BIAS_DESC, CUDNN_ATTR_OPERATION_BN_BWD_WEIGHTS_EQ_DY_SCALE_DESC,
           CUDNN_ATTR_OPERATION_BN_BWD_WEIGHTS_EQ_X_SCALE_DESC, CUDNN_ATTR_OPERATION_BN_BWD_WEIGHTS_EQ_BIAS});
    case CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR:
      return descriptor.has(CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG) ==
                     (descriptor.has(CUDNN_ATTR_EXECUTION_PLAN_JSON_REPRESENTATION) &&
                      descriptor.has(CUDNN_ATTR_EXECUTION_PLAN_HANDLE))
                 ? "a plan wants a configuration, or text and a handle"
                 : "";
    case CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR:
      return descriptor.list<int64_t>(CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS).size() ==
                     descriptor.list<void*>(CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS).size()
                 ? ""
                 : "a pack with other numbers of ids than of pointers";
    default: return {};
  }
}

}  // namespace stand_in
