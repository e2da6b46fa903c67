#include "runtime/cuda/vendor/cudnn_graph.h"

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

void CudnnGraph::output(Id id, DType dtype, Dims strides) {
  Tensor& tensor = tensors_[size_t(id)];
  tensor.intermediate = false;
  tensor.dtype = dtype;
  tensor.strides = std::move(strides);
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
