// Makes cuDNN's plans, and enqueues them into streams.
#define CUDNN_FRONTEND_SKIP_JSON_LIB  // graphs as JSON double the compile time of this file, and nothing uses them
#define NV_CUDNN_FRONTEND_USE_DYNAMIC_LOADING
#include "runtime/cuda/vendor/cudnn_frontend_plan.h"
#include "runtime/cuda/kept.h"
#include "runtime/plan/plan.h"
#include "runtime/cuda/vendor/shared_library.h"

#include <algorithm>

namespace cudnn_frontend {
void* cudnn_dlhandle = nullptr;  // the frontend takes its functions from there
}

namespace sheaf::cuda {
namespace {

/// f32: without tensor cores, which would round the factors to TF32. Narrow types: sums stay in f32.
std::vector<fe::NumericalNote_t> unwanted_notes(const CudnnGraph& graph, const EngineChoice& choice) {
  using Note = fe::NumericalNote_t;
  std::vector<Note> notes;
  const auto narrow = [](const CudnnGraph::Tensor& tensor) {
    return tensor.dtype == DType::bfloat16 || tensor.dtype == DType::float16;
  };
  const bool is_narrow = std::any_of(graph.tensors().begin(), graph.tensors().end(), narrow);
  if (is_narrow || !choice.fast_numerics) notes.push_back(Note::REDUCED_PRECISION_REDUCTION);
  if (!is_narrow && !choice.fast_numerics) notes.insert(notes.end(), {Note::TENSOR_CORE, Note::DOWN_CONVERT_INPUTS});
  if (!choice.fast_numerics)
    notes.insert(notes.end(),
                 {Note::FFT, Note::WINOGRAD, Note::WINOGRAD_TILE_4x4, Note::WINOGRAD_TILE_6x6, Note::WINOGRAD_TILE_13x13});
  if (choice.deterministic) notes.push_back(Note::NONDETERMINISTIC);
  return notes;
}

/// For a graph whose engine is chosen only on the GPU.
class OpenPlan final : public CudnnPlan {
 public:
  explicit OpenPlan(std::string why) : why_(std::move(why)) {}
  std::string unknown() const override { return why_; }
  size_t workspace_bytes() const override { return 0; }
  std::string engine() const override { return "with an engine that is chosen on the GPU"; }
  std::string left_out() const override { return {}; }
  const std::string& name() const override { return no_name_; }
  const std::vector<std::string>& candidates() const override { return none_; }

 private:
  std::string why_, no_name_;
  std::vector<std::string> none_;
};

/// Engines that cuDNN can't write are made anew by every process.
void keep_for_later(const std::string& key, const FrontendPlan& plan) {
  FrontendPlan::Kept kept;
  try {
    kept = plan.keep();
  } catch (const std::exception&) {
    return;
  }
  const Json json = {{"name", kept.name},
                     {"engine", kept.engine},
                     {"left_out", kept.left_out},
                     {"candidates", kept.candidates},
                     {"plan", kept.plan}};
  keep(key, json.dump(-1, ' ', false, Json::error_handler_t::replace));
}

Result<void> load() {
  static const Result<SharedLibrary> library = SharedLibrary::open("cuDNN", {"libcudnn.so.9"});
  if (!library) return library.error();
  if (!fe::cudnn_dlhandle) {
    size_t (*version)() = nullptr;
    SHEAF_TRY(Symbols(*library).require("cudnnGetVersion", version).result());
    if (version() < 91100) return Error("cuDNN " + std::to_string(version()) + " is too old: 9.11 or later is needed");
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
  // The thread that lets go of it may have no device, or another.
  if (!handle_ || !driver_->make_current(ordinal_)) return;
  destroy_unused_streams();
  fe::detail::destroy_handle(handle_);
}

Result<std::shared_ptr<Cudnn>> Cudnn::open(Driver& driver, int device) {
  SHEAF_TRY(load());
  SHEAF_TRY(driver.make_current(device));
  std::shared_ptr<Cudnn> cudnn(new Cudnn);
  const DeviceProperties& properties = driver.properties(device);
  cudnn->device_->sm = properties.major * 10 + properties.minor;
  cudnn->driver_ = &driver;
  cudnn->ordinal_ = device;
  if (const cudnnStatus_t status = fe::detail::create_handle(&cudnn->handle_); status != CUDNN_STATUS_SUCCESS) {
    cudnn->handle_ = nullptr;
    return failure("cudnnCreate", fe::detail::get_error_string(status));
  }
  cudnn->machine_ =
      properties.name + ", sm_" + std::to_string(cudnn->device_->sm) + ", cuDNN " + version() + ", " + driver.version();
  return cudnn;
}

Result<std::shared_ptr<const CudnnStream>> Cudnn::on(Stream stream) {
  const std::lock_guard lock(opening_);
  const auto known = std::find_if(streams_.begin(), streams_.end(), [&](const auto& open) { return open->stream == stream; });
  if (known != streams_.end()) return *known;
  SHEAF_TRY(driver_->make_current(ordinal_));
  CudnnStream made{stream};
  if (const cudnnStatus_t status = fe::detail::create_handle(&made.handle); status != CUDNN_STATUS_SUCCESS)
    return failure("cudnnCreate", fe::detail::get_error_string(status));
  streams_.push_back(std::make_shared<const CudnnStream>(made));
  if (const cudnnStatus_t status = fe::detail::set_stream(made.handle, reinterpret_cast<cudaStream_t>(stream));
      status != CUDNN_STATUS_SUCCESS)
    return failure("cudnnSetStream", fe::detail::get_error_string(status));
  return streams_.back();
}

void Cudnn::destroy_unused_streams() {
  const std::lock_guard lock(opening_);
  std::erase_if(streams_, [&](const auto& open) {
    if (open.use_count() > 1 || !driver_->make_current(ordinal_)) return false;
    fe::detail::destroy_handle(open->handle);
    return true;
  });
}

Result<std::shared_ptr<Cudnn>> Cudnn::open_planning(const std::string& properties, int sm) {
  SHEAF_TRY(load());
  std::shared_ptr<Cudnn> cudnn(new Cudnn);
  cudnn->device_->sm = sm;
  auto described = std::make_shared<fe::DeviceProperties>();
  if (auto status = described->deserialize({properties.begin(), properties.end()}); status.is_bad())
    return failure("the device's properties", status.get_message());
  cudnn->device_->properties = std::move(described);
  // cuDNN asks the driver for these when it makes a plan; a machine without one doesn't have them.
  CudnnGraph probe;
  const Dims x{1, 8, 8, 8}, weight{8, 8, 1, 1}, strides{512, 64, 8, 1}, of_weight{8, 1, 1, 1};
  const auto y = probe.conv_forward(probe.tensor(DType::float32, x, strides), probe.tensor(DType::float32, weight, of_weight),
                                    {{0, 0}, {0, 0}, {1, 1}, {1, 1}}, x);
  probe.output(y, DType::float32, strides);
  if (const auto plan = cudnn->make(probe, {}); !plan)
    cudnn->no_engines_ = "cuDNN " + version() + " makes no plans without NVIDIA's driver";
  return cudnn;
}

std::shared_ptr<Cudnn> Cudnn::without_engines(std::string why) {
  std::shared_ptr<Cudnn> cudnn(new Cudnn);
  cudnn->no_engines_ = std::move(why);
  return cudnn;
}

std::string Cudnn::version() {
  if (!load()) return {};
  const size_t version = fe::detail::get_backend_version();
  return std::to_string(version / 10000) + "." + std::to_string(version / 100 % 100) + "." + std::to_string(version % 100);
}

std::string Cudnn::key(const CudnnGraph& graph, const EngineChoice& choice) {
  return graph.key() + (choice.fast_numerics ? "fast" : "") + (choice.deterministic ? "same" : "") +
         (choice.compiled ? "" : "ready") + (choice.candidates ? "measured" : "");
}

Result<std::shared_ptr<CudnnPlan>> Cudnn::plan(const CudnnGraph& graph, const EngineChoice& choice) {
  // Here, where a program is bound and nothing waits: to destroy a handle may take until the device has nothing to do.
  destroy_unused_streams();
  const std::string key = Cudnn::key(graph, choice) + choice.wanted;
  const std::lock_guard lock(planning_);
  if (const auto known = plans_.find(key); known != plans_.end()) return known->second;
  return plans_.emplace(key, make(graph, choice)).first->second;
}

Result<std::shared_ptr<CudnnPlan>> Cudnn::make(const CudnnGraph& graph, const EngineChoice& choice) {
  if (!no_engines_.empty()) return std::shared_ptr<CudnnPlan>(std::make_shared<OpenPlan>(no_engines_));
  const std::string kept_as = "plan of " + machine_ + ": " + Cudnn::key(graph, choice) + choice.wanted;
  try {
    if (handle_)
      if (auto plan = load_kept(graph, kept_as)) return plan;
    const auto plan = std::make_shared<FrontendPlan>(graph);
    SHEAF_TRY(plan->build(handle_, device_->properties, device_->sm,
                          {unwanted_notes(graph, choice), choice.compiled, choice.candidates, choice.wanted}));
    if (handle_) keep_for_later(kept_as, *plan);
    return std::shared_ptr<CudnnPlan>(plan);
  } catch (const std::exception& error) {
    return failure("cuDNN's frontend", error.what());
  }
}

Result<std::shared_ptr<CudnnPlan>> Cudnn::load_kept(const CudnnGraph& graph, const std::string& key) {
  const auto text = kept_files().find(key);
  const Error unusable("there is no such plan");
  if (!text) return unusable;
  const Json json = Json::parse(*text, nullptr, /*allow_exceptions=*/false);
  if (!json.is_object()) return unusable;
  FrontendPlan::Kept kept;
  for (const auto& [name, value] :
       {std::pair{"name", &kept.name}, {"engine", &kept.engine}, {"left_out", &kept.left_out}, {"plan", &kept.plan}}) {
    if (!json.contains(name) || !json[name].is_string()) return unusable;
    *value = json[name].get<std::string>();
  }
  if (!json.contains("candidates") || !json["candidates"].is_array()) return unusable;
  for (const Json& name : json["candidates"]) {
    if (!name.is_string()) return unusable;
    kept.candidates.push_back(name.get<std::string>());
  }
  const auto plan = std::make_shared<FrontendPlan>(graph);
  SHEAF_TRY(plan->load(handle_, device_->properties, device_->sm, std::move(kept)));
  return std::shared_ptr<CudnnPlan>(plan);
}

/// cuDNN's list of buffers, kept while their addresses stay the same.
struct CudnnCall::Pack {
  Pack() : descriptor(CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR) {}
  fe::detail::backend_descriptor descriptor;
};

CudnnCall::CudnnCall(std::shared_ptr<Cudnn> cudnn, std::shared_ptr<CudnnPlan> plan, std::vector<MemoryRef> places,
                     MemoryRef workspace)
    : cudnn_(std::move(cudnn)), plan_(std::move(plan)), workspace_(workspace) {
  const auto& built = static_cast<const FrontendPlan&>(*plan_);
  pointers_ = built.pointers();
  for (size_t i = 0; i < pointers_.size(); ++i) {
    const size_t tensor = size_t(built.uids()[i] - 1);
    if (!pointers_[i] && tensor < places.size()) places_.push_back({i, places[tensor]});
  }
}

CudnnCall::CudnnCall(CudnnCall&&) noexcept = default;
CudnnCall::~CudnnCall() = default;

Result<void> CudnnCall::enqueue(const Enqueue& at) {
  const auto& built = static_cast<const FrontendPlan&>(*plan_);
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
  if (!on_ || on_->stream != at.stream) {
    SHEAF_ASSIGN(on_, cudnn_->on(at.stream));
  }
  if (const cudnnStatus_t status = fe::detail::execute(on_->handle, built.descriptor(), pack_->descriptor.get_ptr());
      status != CUDNN_STATUS_SUCCESS)
    return failure("cudnnBackendExecute",
                   std::string(fe::detail::get_error_string(status)) + " " + fe::detail::get_last_error_string_());
  return {};
}

}  // namespace sheaf::cuda
