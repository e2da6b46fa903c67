// A graph in the terms of cuDNN's frontend, and its plan. Included by cudnn.cpp alone: the frontend takes half a minute and
// 1.4 GB to compile.
#pragma once

#include "runtime/cuda/vendor/cudnn.h"

#include <cudnn_frontend.h>

#include <algorithm>
#include <cctype>

namespace sheaf::cuda {

namespace fe = cudnn_frontend;
using Attributes = std::shared_ptr<fe::graph::Tensor_attributes>;

inline Error failure(const std::string& call, std::string words) {
  while (!words.empty() && std::isspace(static_cast<unsigned char>(words.back()))) words.pop_back();
  std::replace(words.begin(), words.end(), '\n', ' ');
  return Error(call + ": " + (words.empty() ? "cuDNN gives no reason" : words));
}

inline fe::DataType_t type_of(const CudnnGraph::Tensor& tensor) {
  switch (tensor.dtype) {
    case DType::bfloat16: return fe::DataType_t::BFLOAT16;
    case DType::float16: return fe::DataType_t::HALF;
    case DType::int32: return fe::DataType_t::INT32;
    case DType::int64: return fe::DataType_t::INT64;
    case DType::uint8: return fe::DataType_t::UINT8;
    default: return fe::DataType_t::FLOAT;
  }
}

inline fe::PointwiseMode_t mode_of(Pointwise function) {
  switch (function) {
    case Pointwise::identity: return fe::PointwiseMode_t::IDENTITY;
    case Pointwise::add: return fe::PointwiseMode_t::ADD;
    case Pointwise::relu: return fe::PointwiseMode_t::RELU_FWD;
    case Pointwise::elu: return fe::PointwiseMode_t::ELU_FWD;
    case Pointwise::silu: return fe::PointwiseMode_t::SWISH_FWD;
    case Pointwise::gelu: return fe::PointwiseMode_t::GELU_FWD;
    case Pointwise::gelu_tanh: return fe::PointwiseMode_t::GELU_APPROX_TANH_FWD;
    case Pointwise::tanh: return fe::PointwiseMode_t::TANH_FWD;
    case Pointwise::sigmoid: return fe::PointwiseMode_t::SIGMOID_FWD;
  }
  return fe::PointwiseMode_t::IDENTITY;
}

template <typename Convolution>
Convolution windowed(const ConvWindow& window) {
  Convolution attributes;
  attributes.set_pre_padding(window.padding_begin)
      .set_post_padding(window.padding_end)
      .set_stride(window.stride)
      .set_dilation(window.dilation);
  return attributes;
}

/// The frontend's graph of a graph, and what it keeps of the plan.
class FrontendPlan final : public CudnnPlan, private fe::graph::Graph {
 public:
  explicit FrontendPlan(const CudnnGraph& graph) {
    set_io_data_type(fe::DataType_t::FLOAT);
    set_intermediate_data_type(fe::DataType_t::FLOAT);
    set_compute_data_type(fe::DataType_t::FLOAT);
    tensors_.resize(graph.tensors().size());
    for (size_t i = 0; i < tensors_.size(); ++i) read(graph, i);
    for (const CudnnGraph::Node& node : graph.nodes()) add(graph, node);
  }

  Result<void> build(cudnnHandle_t handle, const std::shared_ptr<const fe::DeviceProperties>& properties, int sm,
                     const std::vector<fe::NumericalNote_t>& unwanted, bool compiled) {
    if (properties) set_device_properties(properties);
    set_sm_version(sm);
    if (auto status = validate(); status.is_bad()) return failure("validate", status.get_message());
    if (auto status = build_operation_graph(handle); status.is_bad())
      return failure("build_operation_graph", status.get_message());
    if (auto status = create_execution_plans({fe::HeurMode_t::A, fe::HeurMode_t::FALLBACK}); status.is_bad())
      return failure("create_execution_plans", status.get_message());
    deselect_numeric_notes(unwanted);  // before create_execution_plans it would do nothing
    if (!compiled) deselect_behavior_notes({fe::BehaviorNote_t::RUNTIME_COMPILATION});
    if (auto status = check_support(); status.is_bad()) return failure("check_support", status.get_message());
    if (auto status = build_plans(); status.is_bad()) return failure("build_plans", status.get_message());
    int64_t bytes = 0;
    if (auto status = get_workspace_size(bytes); status.is_bad()) return failure("get_workspace_size", status.get_message());
    workspace_bytes_ = size_t(bytes);
    engine_ = name_of(plans.candidate);
    for (int64_t i = 0; i < plans.candidate; ++i) {
      const auto& notes = plans.numeric_notes[size_t(i)];
      if (std::find(unwanted.begin(), unwanted.end(), fe::NumericalNote_t::NONDETERMINISTIC) == unwanted.end()) break;
      if (std::find(notes.begin(), notes.end(), fe::NumericalNote_t::NONDETERMINISTIC) == notes.end()) continue;
      const std::string name = name_of(i);
      if (left_out_.find(name) == left_out_.npos) left_out_ += (left_out_.empty() ? "" : ", ") + name;
    }
    return {};
  }

  size_t workspace_bytes() const override { return workspace_bytes_; }
  std::string engine() const override { return engine_; }
  std::string left_out() const override { return left_out_; }

  /// All buffers of the variant pack by uid (tensor + 1, or the frontend's own, which are filled in).
  const std::vector<int64_t>& uids() const { return varpack_template.all_uids; }
  const std::vector<void*>& pointers() const { return varpack_template.template_ptrs; }
  cudnnBackendDescriptor_t descriptor() const { return plans.execution_plans[size_t(plans.candidate)]->get_raw_desc(); }

 private:
  /// Tensors that no node makes.
  void read(const CudnnGraph& graph, size_t i) {
    const CudnnGraph::Tensor& tensor = graph.tensors()[i];
    const auto makes = [&](const CudnnGraph::Node& node) {
      return std::find(node.outputs.begin(), node.outputs.end(), int(i)) != node.outputs.end();
    };
    if (std::any_of(graph.nodes().begin(), graph.nodes().end(), makes)) return;
    fe::graph::Tensor_attributes attributes;
    attributes.set_uid(int64_t(i) + 1).set_dim(tensor.dims).set_stride(tensor.strides).set_data_type(type_of(tensor));
    tensors_[i] = this->tensor(attributes);
  }

  void made(const CudnnGraph& graph, int id, const Attributes& attributes) {
    const CudnnGraph::Tensor& tensor = graph.tensors()[size_t(id)];
    attributes->set_uid(int64_t(id) + 1).set_dim(tensor.dims);
    if (!tensor.strides.empty()) attributes->set_stride(tensor.strides);
    if (!tensor.intermediate) attributes->set_output(true).set_data_type(type_of(tensor));
    tensors_[size_t(id)] = attributes;
  }

  void add(const CudnnGraph& graph, const CudnnGraph::Node& node) {
    std::vector<Attributes> in;
    for (const int id : node.inputs) in.push_back(tensors_[size_t(id)]);
    using Node = CudnnGraph::Node;
    switch (node.kind) {
      case Node::conv_forward:
        made(graph, node.outputs[0], conv_fprop(in[0], in[1], windowed<fe::graph::Conv_fprop_attributes>(node.window)));
        break;
      case Node::conv_backward_data:
        made(graph, node.outputs[0], conv_dgrad(in[0], in[1], windowed<fe::graph::Conv_dgrad_attributes>(node.window)));
        break;
      case Node::conv_backward_weight:  // the frontend wants dy first
        made(graph, node.outputs[0], conv_wgrad(in[1], in[0], windowed<fe::graph::Conv_wgrad_attributes>(node.window)));
        break;
      case Node::pointwise: {
        fe::graph::Pointwise_attributes attributes;
        attributes.set_mode(mode_of(node.function));
        if (node.function == Pointwise::relu && node.parameter != 0) attributes.set_relu_lower_clip_slope(node.parameter);
        if (node.function == Pointwise::elu) attributes.set_elu_alpha(node.parameter);
        made(graph, node.outputs[0],
             in.size() > 1 ? fe::graph::Graph::pointwise(in[0], in[1], attributes)
                           : fe::graph::Graph::pointwise(in[0], attributes));
        break;
      }
    }
  }

  std::string name_of(int64_t candidate) {
    std::string name;  // "…_eng35_k2=1_k3=0"
    if (get_plan_name_at_index(candidate, name).is_bad()) return "engine";
    const size_t begin = name.find("eng");
    return begin == name.npos ? "engine" : "engine " + name.substr(begin + 3, name.find('_', begin) - begin - 3);
  }

  std::vector<Attributes> tensors_;
  size_t workspace_bytes_ = 0;
  std::string engine_, left_out_;
};

}  // namespace sheaf::cuda
