// Makes cuDNN's plans. The one file that includes its frontend: that takes half a minute and 1.4 GB to compile.
#define NV_CUDNN_FRONTEND_USE_DYNAMIC_LOADING
#include <cudnn_frontend.h>

#include "runtime/cuda/vendor/cudnn.h"
#include "runtime/cuda/vendor/shared_library.h"

#include <algorithm>

namespace cudnn_frontend {
void* cudnn_dlhandle = nullptr;  // the frontend takes its functions from there
}

namespace sheaf::cuda {
namespace {

namespace fe = cudnn_frontend;
using Attributes = std::shared_ptr<fe::graph::Tensor_attributes>;

Error failure(const std::string& call, std::string words) {
  while (!words.empty() && std::isspace(static_cast<unsigned char>(words.back()))) words.pop_back();
  std::replace(words.begin(), words.end(), '\n', ' ');
  return Error(call + ": " + (words.empty() ? "cuDNN gives no reason" : words));
}

fe::DataType_t type_of(const CudnnGraph::Tensor& tensor) {
  if (tensor.bits) return fe::DataType_t::BOOLEAN;
  switch (tensor.dtype) {
    case DType::bfloat16: return fe::DataType_t::BFLOAT16;
    case DType::float16: return fe::DataType_t::HALF;
    case DType::int32: return fe::DataType_t::INT32;
    case DType::int64: return fe::DataType_t::INT64;
    case DType::uint8: return fe::DataType_t::UINT8;
    default: return fe::DataType_t::FLOAT;
  }
}

fe::PointwiseMode_t mode_of(Pointwise function) {
  switch (function) {
    case Pointwise::identity: return fe::PointwiseMode_t::IDENTITY;
    case Pointwise::add: return fe::PointwiseMode_t::ADD;
    case Pointwise::multiply: return fe::PointwiseMode_t::MUL;
    case Pointwise::relu: return fe::PointwiseMode_t::RELU_FWD;
    case Pointwise::elu: return fe::PointwiseMode_t::ELU_FWD;
    case Pointwise::silu: return fe::PointwiseMode_t::SWISH_FWD;
    case Pointwise::gelu: return fe::PointwiseMode_t::GELU_FWD;
    case Pointwise::gelu_tanh: return fe::PointwiseMode_t::GELU_APPROX_TANH_FWD;
    case Pointwise::tanh: return fe::PointwiseMode_t::TANH_FWD;
    case Pointwise::sigmoid: return fe::PointwiseMode_t::SIGMOID_FWD;
    case Pointwise::greater: return fe::PointwiseMode_t::CMP_GT;
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
class Plan final : public CudnnPlan, private fe::graph::Graph {
 public:
  explicit Plan(const CudnnGraph& graph) {
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
    if (auto status = get_workspace_size(bytes); status.is_bad())
      return failure("get_workspace_size", status.get_message());
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

  /// All buffers of the variant pack by uid (tensor + 1, or the frontend's own); those of constants are filled in.
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
    if (tensor.value) {
      tensors_[i] = this->tensor(*tensor.value);
      return;
    }
    fe::graph::Tensor_attributes attributes;
    attributes.set_uid(int64_t(i) + 1).set_dim(tensor.dims).set_stride(tensor.strides).set_data_type(type_of(tensor));
    tensors_[i] = this->tensor(attributes);
  }

  void made(const CudnnGraph& graph, int id, const Attributes& attributes) {
    const CudnnGraph::Tensor& tensor = graph.tensors()[size_t(id)];
    attributes->set_uid(int64_t(id) + 1).set_dim(tensor.dims);
    if (!tensor.strides.empty()) attributes->set_stride(tensor.strides);
    if (!tensor.intermediate) attributes->set_output(true).set_data_type(type_of(tensor));
    else if (tensor.bits) attributes->set_data_type(fe::DataType_t::BOOLEAN);
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
      case Node::batch_norm_train: {
        fe::graph::Batchnorm_attributes attributes;
        attributes.set_epsilon(in[3]);
        const auto results = batchnorm(in[0], in[1], in[2], attributes);
        for (size_t i = 0; i < 3; ++i) made(graph, node.outputs[i], results[i]);
        break;
      }
      case Node::batch_norm_backward: {
        fe::graph::Batchnorm_backward_attributes attributes;
        attributes.set_saved_mean_and_inv_variance(in[3], in[4]);
        const auto results = batchnorm_backward(in[0], in[1], in[2], attributes);
        for (size_t i = 0; i < 3; ++i) made(graph, node.outputs[i], results[i]);
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

/// f32: without tensor cores, which would round the factors to TF32. Narrow types: sums stay in f32.
std::vector<fe::NumericalNote_t> unwanted_notes(const CudnnGraph& graph, const EngineChoice& choice) {
  using Note = fe::NumericalNote_t;
  std::vector<Note> notes;
  const auto narrow = [](const CudnnGraph::Tensor& tensor) {
    return !tensor.bits && (tensor.dtype == DType::bfloat16 || tensor.dtype == DType::float16);
  };
  const bool is_narrow = std::any_of(graph.tensors().begin(), graph.tensors().end(), narrow);
  if (is_narrow || !choice.fast_numerics) notes.push_back(Note::REDUCED_PRECISION_REDUCTION);
  if (!is_narrow && !choice.fast_numerics) notes.insert(notes.end(), {Note::TENSOR_CORE, Note::DOWN_CONVERT_INPUTS});
  if (!choice.fast_numerics)
    notes.insert(notes.end(), {Note::FFT, Note::WINOGRAD, Note::WINOGRAD_TILE_4x4, Note::WINOGRAD_TILE_6x6,
                               Note::WINOGRAD_TILE_13x13});
  if (choice.deterministic) notes.push_back(Note::NONDETERMINISTIC);
  return notes;
}

Result<void> load() {
  static const Result<SharedLibrary> library = SharedLibrary::open("cuDNN", {"libcudnn.so.9"});
  if (!library) return library.error();
  if (!fe::cudnn_dlhandle) {
    size_t (*version)() = nullptr;
    if (auto found = Symbols(*library)("cudnnGetVersion", version).result(); !found) return found.error();
    if (version() < 91100)
      return Error("cuDNN " + std::to_string(version()) + " is too old: 9.11 or later is needed");
    fe::cudnn_dlhandle = library->handle();
  }
  return {};
}

}  // namespace

struct Cudnn::Device {
  std::shared_ptr<const fe::DeviceProperties> properties;  ///< null: the handle's
  int sm = 0;
};

Cudnn::Cudnn() : device_(std::make_unique<Device>()) {}

Cudnn::~Cudnn() {
  if (handle_) fe::detail::destroy_handle(handle_);
}

Result<std::shared_ptr<Cudnn>> Cudnn::open(int sm) {
  if (auto loaded = load(); !loaded) return loaded.error();
  std::shared_ptr<Cudnn> cudnn(new Cudnn);
  cudnn->device_->sm = sm;
  if (const cudnnStatus_t status = fe::detail::create_handle(&cudnn->handle_); status != CUDNN_STATUS_SUCCESS) {
    cudnn->handle_ = nullptr;
    return failure("cudnnCreate", fe::detail::get_error_string(status));
  }
  return cudnn;
}

Result<std::shared_ptr<Cudnn>> Cudnn::open_planning(const std::string& properties, int sm) {
  if (auto loaded = load(); !loaded) return loaded.error();
  std::shared_ptr<Cudnn> cudnn(new Cudnn);
  cudnn->device_->sm = sm;
  auto described = std::make_shared<fe::DeviceProperties>();
  if (auto status = described->deserialize({properties.begin(), properties.end()}); status.is_bad())
    return failure("the device's properties", status.get_message());
  cudnn->device_->properties = std::move(described);
  return cudnn;
}

std::string Cudnn::version() {
  if (!load()) return {};
  const size_t version = fe::detail::get_backend_version();
  return std::to_string(version / 10000) + "." + std::to_string(version / 100 % 100) + "." + std::to_string(version % 100);
}

Result<std::shared_ptr<CudnnPlan>> Cudnn::plan(const CudnnGraph& graph, const EngineChoice& choice) {
  const std::string key = graph.key() + (choice.fast_numerics ? "fast" : "") + (choice.deterministic ? "same" : "") +
                          (choice.compiled ? "" : "ready");
  const std::lock_guard lock(planning_);
  if (const auto known = plans_.find(key); known != plans_.end()) return known->second;
  const auto make = [&]() -> Result<std::shared_ptr<CudnnPlan>> {
    try {
      const auto plan = std::make_shared<Plan>(graph);
      if (auto built = plan->build(handle_, device_->properties, device_->sm, unwanted_notes(graph, choice), choice.compiled);
          !built)
        return built.error();
      return std::shared_ptr<CudnnPlan>(plan);
    } catch (const std::exception& error) {
      return failure("cuDNN's frontend", error.what());
    }
  };
  return plans_.emplace(key, make()).first->second;
}

/// cuDNN's list of buffers, kept while they stay where they are.
struct CudnnCall::Pack {
  Pack() : descriptor(CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR) {}
  fe::detail::backend_descriptor descriptor;
};

CudnnCall::CudnnCall(std::shared_ptr<Cudnn> cudnn, std::shared_ptr<CudnnPlan> plan, std::vector<MemoryRef> places,
                     MemoryRef workspace)
    : cudnn_(std::move(cudnn)), plan_(std::move(plan)), workspace_(workspace) {
  const Plan& built = static_cast<const Plan&>(*plan_);
  pointers_ = built.pointers();
  for (size_t i = 0; i < pointers_.size(); ++i) {
    const size_t tensor = size_t(built.uids()[i] - 1);
    if (!pointers_[i] && tensor < places.size()) places_.push_back({i, places[tensor]});
  }
}

CudnnCall::CudnnCall(CudnnCall&&) noexcept = default;
CudnnCall::~CudnnCall() = default;

Result<void> CudnnCall::enqueue(const Enqueue& at) {
  const Plan& built = static_cast<const Plan&>(*plan_);
  void* workspace = workspace_.resolve(at);
  bool same = pack_ && workspace == packed_workspace_;
  for (const auto& [slot, where] : places_) {
    void* pointer = where.resolve(at);
    same &= pointers_[slot] == pointer;
    pointers_[slot] = pointer;
  }
  if (!same) {
    pack_ = std::make_unique<Pack>();
    packed_workspace_ = workspace;
    if (auto status = fe::detail::create_variant_pack(pack_->descriptor, pointers_, built.uids(), workspace); status.is_bad()) {
      pack_.reset();
      return failure("cudnnBackendFinalize of the variant pack", status.get_message());
    }
  }
  const std::lock_guard lock(cudnn_->using_handle());
  const auto stream = reinterpret_cast<cudaStream_t>(at.stream);
  if (const cudnnStatus_t status = fe::detail::set_stream(cudnn_->handle(), stream); status != CUDNN_STATUS_SUCCESS)
    return failure("cudnnSetStream", fe::detail::get_error_string(status));
  if (const cudnnStatus_t status = fe::detail::execute(cudnn_->handle(), built.descriptor(), pack_->descriptor.get_ptr());
      status != CUDNN_STATUS_SUCCESS)
    return failure("cudnnBackendExecute", std::string(fe::detail::get_error_string(status)) + " " +
                                              fe::detail::get_last_error_string_());
  return {};
}

}  // namespace sheaf::cuda
