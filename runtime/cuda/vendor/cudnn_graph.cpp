#include "runtime/cuda/vendor/cudnn_graph.h"

#include <algorithm>
#include <bit>
#include <utility>

namespace sheaf::cuda {

CudnnGraph::Id CudnnGraph::tensor(DType dtype, Dims dims, Dims strides) {
  tensors_.push_back({.dtype = dtype, .dims = std::move(dims), .strides = std::move(strides)});
  return Id(tensors_.size()) - 1;
}

CudnnGraph::Id CudnnGraph::add(Node node, Dims dims) {
  tensors_.push_back({.dims = std::move(dims), .intermediate = true});
  const Id result = Id(tensors_.size()) - 1;
  node.outputs.push_back(result);
  nodes_.push_back(std::move(node));
  return result;
}

CudnnGraph::Id CudnnGraph::conv_forward(Id x, Id weight, const ConvWindow& window, Dims y) {
  return add({.kind = Node::conv_forward, .inputs = {x, weight}, .window = window}, std::move(y));
}

CudnnGraph::Id CudnnGraph::conv_backward_data(Id dy, Id weight, const ConvWindow& window, Dims dx) {
  return add({.kind = Node::conv_backward_data, .inputs = {dy, weight}, .window = window}, std::move(dx));
}

CudnnGraph::Id CudnnGraph::conv_backward_weight(Id x, Id dy, const ConvWindow& window, Dims dweight) {
  return add({.kind = Node::conv_backward_weight, .inputs = {x, dy}, .window = window}, std::move(dweight));
}

CudnnGraph::Id CudnnGraph::pointwise(Pointwise function, Id a, Id b, float parameter) {
  Node node{.kind = Node::pointwise, .inputs = {a}, .function = function, .parameter = parameter};
  if (b >= 0) node.inputs.push_back(b);
  return add(std::move(node), tensors_[size_t(a)].dims);
}

Dims CudnnGraph::channels_of(Id tensor) const {
  Dims dims(tensors_[size_t(tensor)].dims.size(), 1);
  dims[1] = tensors_[size_t(tensor)].dims[1];
  return dims;
}

std::array<CudnnGraph::Id, 2> CudnnGraph::sums(Id x) {
  const Id first = add({.kind = Node::sums, .inputs = {x}}, channels_of(x)), second = first + 1;
  tensors_.push_back(tensors_[size_t(first)]);
  nodes_.back().outputs.push_back(second);
  return {first, second};
}

std::array<CudnnGraph::Id, 5> CudnnGraph::norm_weight(Id dy, Id x, Id mean, Id inverse, Id weight) {
  std::array<Id, 5> made{};
  made[0] = add({.kind = Node::norm_weight, .inputs = {dy, x, mean, inverse, weight}}, channels_of(x));
  for (size_t i = 1; i < made.size(); ++i) {
    made[i] = made[i - 1] + 1;
    tensors_.push_back(tensors_[size_t(made[0])]);
    nodes_.back().outputs.push_back(made[i]);
  }
  return made;
}

void CudnnGraph::output(Id id, DType dtype, Dims strides) {
  Tensor& tensor = tensors_[size_t(id)];
  tensor.intermediate = false;
  tensor.dtype = dtype;
  tensor.strides = std::move(strides);
}

double CudnnGraph::least_seconds() const {
  constexpr double kBytesPerSecond = 3e12, kProductsPerSecond = 2e14;
  const auto count = [&](Id tensor) {
    const Dims& dims = tensors_[size_t(tensor)].dims;
    return double(product(dims, 0, dims.size()));
  };
  double bytes = 0, products = 0;
  for (size_t i = 0; i < tensors_.size(); ++i)
    if (!tensors_[i].intermediate) bytes += count(Id(i)) * double(size_of(tensors_[i].dtype));
  for (const Node& node : nodes_) {
    // Each element of y is a sum over the elements of the weight for its channel.
    const bool forward = node.kind == Node::conv_forward, weight = node.kind == Node::conv_backward_weight;
    if (!forward && !weight && node.kind != Node::conv_backward_data) continue;
    const Id y = forward ? node.outputs[0] : weight ? node.inputs[1] : node.inputs[0];
    const Id factors = weight ? node.outputs[0] : node.inputs[1];
    products += count(y) * count(factors) / double(tensors_[size_t(factors)].dims[0]);
  }
  return std::max(bytes / kBytesPerSecond, products / kProductsPerSecond);
}

std::string CudnnGraph::key() const {
  std::string key;
  const auto number = [&](int64_t value) { key += std::to_string(value) + ","; };
  const auto list = [&](const auto& values) {
    for (const auto value : values) number(value);
    key += ";";
  };
  for (const Tensor& tensor : tensors_) {
    number(int64_t(tensor.dtype) * 2 + tensor.intermediate);
    list(tensor.dims);
    list(tensor.strides);
    key += "|";
  }
  for (const Node& node : nodes_) {
    number(node.kind);
    number(int64_t(node.function));
    number(std::bit_cast<int32_t>(node.parameter));
    for (const Dims& dims : {node.window.padding_begin, node.window.padding_end, node.window.stride, node.window.dilation})
      list(dims);
    list(node.inputs);
    list(node.outputs);
    key += "|";
  }
  return key;
}

}  // namespace sheaf::cuda
