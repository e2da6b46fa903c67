#include "runtime/cuda/vendor/library.h"

#include "runtime/cuda/gpu_models.h"
#include "runtime/cuda/own_operations.h"
#include "runtime/cuda/planned_device.h"
#include "runtime/cuda/vendor/cublaslt.h"
#include "runtime/cuda/vendor/cudnn.h"
#include "runtime/plan/op_list.h"
#include "runtime/steps/empty_step.h"

#include <algorithm>
#include <map>
#include <mutex>

namespace sheaf::cuda {
namespace {

/// The library that prepares an operation, besides the project's own kernels.
enum Wants { nothing, cudnn, cublaslt };

struct Entry {
  Op op;
  Wants wants;
  PrepareOperation prepare;
};

constexpr Entry operations[] = {
    {Op::linear, cublaslt, prepare_linear},
    {Op::linear_backward_data, cublaslt, prepare_linear_backward_data},
    {Op::linear_backward_weight, cublaslt, prepare_linear_backward_weight},
    {Op::matmul, cublaslt, prepare_matmul},
    {Op::conv, cudnn, prepare_conv},
    {Op::conv_transpose, cudnn, prepare_conv_transpose},
    {Op::conv_backward_data, cudnn, prepare_conv_backward_data},
    {Op::conv_backward_weight, cudnn, prepare_conv_backward_weight},
    {Op::lstm, cudnn, prepare_rnn},
    {Op::gru, cudnn, prepare_rnn},
    {Op::rnn, cudnn, prepare_rnn},
    {Op::lstm_train, cudnn, prepare_rnn},
    {Op::gru_train, cudnn, prepare_rnn},
    {Op::rnn_train, cudnn, prepare_rnn},
    {Op::lstm_backward, cudnn, prepare_rnn},
    {Op::gru_backward, cudnn, prepare_rnn},
    {Op::rnn_backward, cudnn, prepare_rnn},
};

class NvidiaLibrary final : public Library {
 public:
  explicit NvidiaLibrary(LibraryContext context) : context_(std::move(context)) {}

  Result<void> supports(Op op, DType dtype) override { return supports_gpu_op(op, dtype); }

  Result<Prepared> prepare(const PrepareRequest& request) override {
    const Op op = request.step.op;
    const PrepareOwn own = find_own_operation(op);
    const auto entry =
        std::find_if(std::begin(operations), std::end(operations), [&](const Entry& known) { return known.op == op; });
    if (!own && entry == std::end(operations)) return Error("the CUDA backend has no library operation of this name");
    try {
      if (has_nothing_to_do(request)) return prepare_nothing(request, context_.planning());
      open_for(own ? nothing : entry->wants);
      require(!own || context_.planning() || context_.own, context_.no_own);
      return own ? own(request, context_.planning() ? nullptr : context_.own, context_.properties)
                 : entry->prepare(request, context_);
    } catch (const OperationError& error) {
      return Error(error.what());
    }
  }

  std::string versions() const override {
    std::string text = context_.cudnn ? "cuDNN " + Cudnn::version() : "";
    if (context_.cublaslt) text += (text.empty() ? "cuBLASLt " : ", cuBLASLt ") + context_.cublaslt->version();
    return text;
  }

  void abandon() override {
    if (context_.own) context_.own->abandon();
    if (context_.cudnn) context_.cudnn->abandon();
    if (context_.cublaslt) context_.cublaslt->abandon();
  }

 private:
  /// Libraries are opened when the first operation needs them: cuDNN alone takes half a gigabyte of the device's memory.
  void open_for(Wants wants) {
    if (context_.planning()) return;
    if (auto current = context_.driver->make_current(context_.device); !current)
      throw OperationError(current.error().message());
    open(context_.own, context_.no_own, [&] { return OwnKernels::open(*context_.driver, context_.device); });
    if (wants == cudnn) open(context_.cudnn, context_.no_cudnn, [&] { return Cudnn::open(*context_.driver, context_.device); });
    if (wants == cublaslt) open(context_.cublaslt, context_.no_cublaslt, [] { return CublasLt::open(); });
  }

  template <typename Part, typename Open>
  void open(std::shared_ptr<Part>& part, std::string& why_not, Open attempt) {
    if (part || !why_not.empty()) return;
    auto opened = attempt();
    if (opened) part = std::move(*opened);
    else why_not = opened.error().message();
  }

  LibraryContext context_;
};

}  // namespace

Result<std::unique_ptr<Library>> open_library(Driver& driver, int device) {
  LibraryContext context;
  context.driver = &driver;
  context.device = device;
  context.properties = driver.properties(device);
  return std::unique_ptr<Library>(std::make_unique<NvidiaLibrary>(std::move(context)));
}

const PlanningLibrary& planning_library(const GpuModel& model) {
  const auto open = [&] {
    LibraryContext context;
    context.properties = properties_of(model);
    if (auto own = OwnKernels::open(planning_driver(model), 0)) context.own = std::move(*own);
    auto cudnn = Cudnn::open_planning(properties_json(model), model.compute_capability);
    const std::string why = cudnn ? (*cudnn)->no_engines() : cudnn.error().message();
    context.cudnn = cudnn ? std::move(*cudnn) : Cudnn::without_engines(why);
    return PlanningLibrary{std::make_shared<NvidiaLibrary>(std::move(context)), true, why};
  };
  static std::mutex mutex;
  static auto& libraries = *new std::map<const GpuModel*, PlanningLibrary>;
  const std::lock_guard lock(mutex);
  const auto found = libraries.find(&model);
  return found == libraries.end() ? libraries.emplace(&model, open()).first->second : found->second;
}

}  // namespace sheaf::cuda
