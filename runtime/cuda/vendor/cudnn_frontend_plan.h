// A graph in the terms of cuDNN's frontend, and its plan. Only cudnn.cpp includes this: the frontend takes half a minute and
// 1.4 GB to compile.
#pragma once

#include "runtime/cuda/vendor/cudnn.h"

#include <cudnn_frontend.h>

#include <algorithm>
#include <cctype>
#include <limits>

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
    case Pointwise::subtract: return fe::PointwiseMode_t::SUB;
    case Pointwise::multiply: return fe::PointwiseMode_t::MUL;
    case Pointwise::relu: return fe::PointwiseMode_t::RELU_FWD;
    case Pointwise::relu_backward: return fe::PointwiseMode_t::RELU_BWD;
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

/// The frontend's form of a graph, and what it keeps of the plan.
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

  /// What is asked of the engine.
  struct Wish {
    std::vector<fe::NumericalNote_t> unwanted;
    bool compiled = true, candidates = false;
    std::string name;  ///< of a configuration; empty: the first
  };

  Result<void> build(cudnnHandle_t handle, const std::shared_ptr<const fe::DeviceProperties>& properties, int sm,
                     const Wish& wish) {
    SHEAF_TRY(describe(handle, properties, sm));
    if (auto status = create_execution_plans({fe::HeurMode_t::A, fe::HeurMode_t::FALLBACK}); status.is_bad())
      return failure("create_execution_plans", status.get_message());
    deselect_numeric_notes(wish.unwanted);  // before create_execution_plans it would do nothing
    if (!wish.compiled) deselect_behavior_notes({fe::BehaviorNote_t::RUNTIME_COMPILATION});
    if (auto status = check_support(); status.is_bad()) return failure("check_support", status.get_message());
    if (wish.candidates) list_candidates();
    if (!build_named(wish.name))
      if (auto status = build_plans(); status.is_bad()) return failure("build_plans", status.get_message());
    SHEAF_TRY(read_workspace());
    kept_.name = tag_of(plans.candidate);
    kept_.engine = engine_of(plans.candidate);
    // One that wasn't listed: its plan was the first that could be made.
    if (wish.candidates && std::find(kept_.candidates.begin(), kept_.candidates.end(), kept_.name) == kept_.candidates.end())
      kept_.candidates.push_back(kept_.name);
    note_left_out(wish.unwanted);
    return {};
  }

  /// All of a plan that another process needs to have it, too.
  struct Kept {
    std::string name, engine, left_out;
    std::vector<std::string> candidates;
    std::string plan;  ///< as cuDNN writes it
  };
  /// What build() made. Throws an exception of the frontend's.
  Kept keep() const {
    Kept kept = kept_;
    kept.plan = plans.execution_plans[size_t(plans.candidate)]->getJsonRepresentation();
    return kept;
  }
  /// Instead of build(). Errors: cuDNN doesn't take the plan.
  Result<void> load(cudnnHandle_t handle, const std::shared_ptr<const fe::DeviceProperties>& properties, int sm, Kept kept) {
    SHEAF_TRY(describe(handle, properties, sm));
    if (auto status = plans.build_plans(handle, kept.plan); status.is_bad())
      return failure("the kept plan", status.get_message());
    if (plans.execution_plans[0]->getTag() != kept.name) return Error("the kept plan is another engine's");
    if (auto status = prepare_variant_pack_template(); status.is_bad())
      return failure("prepare_variant_pack_template", status.get_message());
    SHEAF_TRY(read_workspace());
    kept_ = std::move(kept);
    kept_.plan.clear();
    return {};
  }

  size_t workspace_bytes() const override { return workspace_bytes_; }
  std::string engine() const override { return kept_.engine; }
  std::string left_out() const override { return kept_.left_out; }
  const std::string& name() const override { return kept_.name; }
  const std::vector<std::string>& candidates() const override { return kept_.candidates; }

  /// All buffers of the variant pack by uid (tensor + 1, or the frontend's own, which are filled in).
  const std::vector<int64_t>& uids() const { return varpack_template.all_uids; }
  const std::vector<void*>& pointers() const { return varpack_template.template_ptrs; }
  cudnnBackendDescriptor_t descriptor() const { return plans.execution_plans[size_t(plans.candidate)]->get_raw_desc(); }

 private:
  static constexpr size_t kMostCandidates = 10;
  static constexpr int64_t kMostWorkspace = int64_t{256} << 20;  ///< of a candidate behind the first

  Result<void> describe(cudnnHandle_t handle, const std::shared_ptr<const fe::DeviceProperties>& properties, int sm) {
    if (properties) set_device_properties(properties);
    set_sm_version(sm);
    if (auto status = validate(); status.is_bad()) return failure("validate", status.get_message());
    if (auto status = build_operation_graph(handle); status.is_bad())
      return failure("build_operation_graph", status.get_message());
    return {};
  }

  Result<void> read_workspace() {
    int64_t bytes = 0;
    if (auto status = get_workspace_size(bytes); status.is_bad()) return failure("get_workspace_size", status.get_message());
    workspace_bytes_ = size_t(bytes);
    return {};
  }

  int64_t configurations() const { return int64_t(plans.numeric_notes.size()); }
  bool is_compiled(int64_t index) const {
    const auto& notes = plans.behavior_notes[size_t(index)];
    return std::find(notes.begin(), notes.end(), fe::BehaviorNote_t::RUNTIME_COMPILATION) != notes.end();
  }

  /// The first that are allowed. Behind a ready-made one none that is compiled: to make their plans would take longer than to measure them.
  void list_candidates() {
    int64_t first = -1;
    for (int64_t i = 0; i < configurations() && kept_.candidates.size() < kMostCandidates; ++i) {
      if (plans.check_support_at_index(i).is_bad()) continue;
      if (first < 0) plans.set_max_workspace_allowed(kMostWorkspace);
      if (first < 0) first = i;
      if (is_compiled(i) && !is_compiled(first)) continue;
      if (std::string tag = tag_of(i);
          std::find(kept_.candidates.begin(), kept_.candidates.end(), tag) == kept_.candidates.end())
        kept_.candidates.push_back(std::move(tag));
    }
    plans.set_max_workspace_allowed(std::numeric_limits<int64_t>::max());
  }

  /// False: there is no such candidate, or no plan of it.
  bool build_named(const std::string& name) {
    if (std::find(kept_.candidates.begin(), kept_.candidates.end(), name) == kept_.candidates.end()) return false;
    for (int64_t i = 0; i < configurations(); ++i)
      if (tag_of(i) == name && build_plan_at_index(i).is_good()) return prepare_variant_pack_template().is_good();
    return false;
  }

  /// Those in front that were left out because their sums depend on the order of threads.
  void note_left_out(const std::vector<fe::NumericalNote_t>& unwanted) {
    const auto order = fe::NumericalNote_t::NONDETERMINISTIC;
    if (std::find(unwanted.begin(), unwanted.end(), order) == unwanted.end()) return;
    std::string& all = kept_.left_out;
    for (int64_t i = 0; i < plans.candidate; ++i) {
      const auto& notes = plans.numeric_notes[size_t(i)];
      if (std::find(notes.begin(), notes.end(), order) == notes.end()) continue;
      const std::string name = engine_of(i);
      if (all.find(name) == all.npos) all += (all.empty() ? "" : ", ") + name;
    }
  }

  /// Tensors that are the result of no node.
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
      case Node::sums: {
        const auto both = genstats(in[0], fe::graph::Genstats_attributes());
        for (size_t i = 0; i < both.size(); ++i) made(graph, node.outputs[i], both[i]);
        break;
      }
      case Node::norm_weight: {
        auto [dweight, dbias, by_dy, by_x, constant] =
            dbn_weight(in[0], in[1], in[2], in[3], in[4], fe::graph::DBN_weight_attributes());
        const Attributes all[] = {dweight, dbias, by_dy, by_x, constant};
        for (size_t i = 0; i < std::size(all); ++i) made(graph, node.outputs[i], all[i]);
        break;
      }
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

  /// "eng35_k2=1_k3=0"
  std::string tag_of(int64_t index) const {
    std::string tag;
    return get_plan_name_at_index(index, tag).is_bad() ? std::string() : tag;
  }
  /// "engine 35"
  std::string engine_of(int64_t index) const {
    const std::string tag = tag_of(index);
    const size_t begin = tag.find("eng");
    return begin == tag.npos ? "engine" : "engine " + tag.substr(begin + 3, tag.find('_', begin) - begin - 3);
  }

  std::vector<Attributes> tensors_;
  size_t workspace_bytes_ = 0;
  Kept kept_;  ///< without the plan
};

}  // namespace sheaf::cuda
