#include "runtime/cuda/vendor/library.h"

#include "runtime/cuda/own_operations.h"
#include "runtime/cuda/vendor/cublaslt.h"
#include "runtime/cuda/vendor/cudnn.h"

#include <algorithm>
#include <array>

namespace sheaf::cuda {
namespace {

/// What an operation is prepared with besides the project's own kernels.
enum Wants { nothing, cudnn, cublaslt };

struct Entry {
  std::string_view name;
  Wants wants;
  PrepareOperation prepare;
};

/// The project's own kernels; null while planning.
const std::shared_ptr<OwnKernels>& own_of(const LibraryContext& context) {
  require(context.planning() || context.own, context.no_own);
  return context.own;
}

Result<Prepared> prepare_pooling(const PrepareRequest& request, LibraryContext& context) {
  const bool maximum = request.step.op.rfind("max_pool", 0) == 0;
  return prepare_own_pooling(request, own_of(context),
                             maximum ? "cuDNN leaves open which of equal maxima has the gradient, and knows no dilation"
                                     : "cuDNN's windows are all alike, and divide by their size or by what is in them alone");
}
Result<Prepared> prepare_reorder(const PrepareRequest& request, LibraryContext& context) {
  require(request.inputs.size() == 1 && request.outputs.size() == 1, "a reorder has one input and one output");
  return prepare_own_reorder(request.inputs[0], request.outputs[0], own_of(context));
}
Result<Prepared> prepare_reduce(const PrepareRequest& request, LibraryContext& context) {
  return prepare_own_reduce(request, own_of(context));
}
Result<Prepared> prepare_check_finite(const PrepareRequest& request, LibraryContext& context) {
  return prepare_own_check_finite(request, own_of(context));
}

constexpr std::array<Entry, 26> operations = {{
    {"linear", cublaslt, prepare_linear},
    {"linear_backward_data", cublaslt, prepare_linear_backward_data},
    {"linear_backward_weight", cublaslt, prepare_linear_backward_weight},
    {"matmul", cublaslt, prepare_matmul},
    {"conv", cudnn, prepare_conv},
    {"conv_transpose", cudnn, prepare_conv_transpose},
    {"conv_backward_data", cudnn, prepare_conv_backward_data},
    {"conv_backward_weight", cudnn, prepare_conv_backward_weight},
    {"batch_norm_train", cudnn, prepare_batch_norm_train},
    {"batch_norm_backward", cudnn, prepare_batch_norm_backward},
    {"lstm", cudnn, prepare_rnn},
    {"gru", cudnn, prepare_rnn},
    {"lstm_train", cudnn, prepare_rnn},
    {"gru_train", cudnn, prepare_rnn},
    {"lstm_backward", cudnn, prepare_rnn},
    {"gru_backward", cudnn, prepare_rnn},
    {"max_pool", nothing, prepare_pooling},
    {"avg_pool", nothing, prepare_pooling},
    {"adaptive_avg_pool", nothing, prepare_pooling},
    {"max_pool_train", nothing, prepare_pooling},
    {"max_pool_backward", nothing, prepare_pooling},
    {"avg_pool_backward", nothing, prepare_pooling},
    {"adaptive_avg_pool_backward", nothing, prepare_pooling},
    {"reorder", nothing, prepare_reorder},
    {"reduce", nothing, prepare_reduce},
    {"check_finite", nothing, prepare_check_finite},
}};

/// An operation on an empty chunk: all outputs have zero elements.
class Nothing final : public Operation {
 public:
  Result<void> enqueue(const Enqueue&) override { return {}; }
  bool guardable() const override { return true; }
};

Prepared prepare_nothing(const PrepareRequest& request, const LibraryContext& context) {
  Prepared prepared = StepOperands(request).prepared();
  if (!context.planning()) prepared.executable = std::make_unique<Nothing>();
  prepared.implementation = "empty";
  prepared.reason = "its results have no elements: there is nothing to compute";
  return prepared;
}

Error failure(const Step& step, const std::string& why) {
  const std::string layer = step.layer.empty() ? "" : "layer '" + step.layer + "': ";
  return Error(layer + "operation '" + step.op + "': " + why);
}

class NvidiaLibrary final : public Library {
 public:
  explicit NvidiaLibrary(LibraryContext context) : context_(std::move(context)) {}

  bool fuses_norms() const override { return true; }
  Result<Prepared> prepare(const PrepareRequest& request) override {
    const Step& step = request.step;
    const auto entry = std::find_if(operations.begin(), operations.end(),
                                    [&](const Entry& known) { return known.name == step.op; });
    if (entry == operations.end()) return failure(step, "the CUDA backend has no library operation of this name");
    try {
      const bool check = step.op == "check_finite";  // the one that is run for what it finds
      require(check || !request.outputs.empty(), "the step has no output");
      const auto empty = [](const TensorSpec& output) { return element_count(output) == 0; };
      if (!check && std::all_of(request.outputs.begin(), request.outputs.end(), empty)) return prepare_nothing(request, context_);
      open_for(entry->wants);
      auto prepared = entry->prepare(request, context_);
      if (!prepared) return failure(step, prepared.error().message());
      return prepared;
    } catch (const OperationError& error) {
      return failure(step, error.what());
    }
  }

 private:
  /// Libraries are opened when the first operation wants them: cuDNN alone takes half a gigabyte of the device's memory.
  void open_for(Wants wants) {
    if (context_.planning()) return;
    if (auto current = context_.driver->make_current(context_.device); !current) throw OperationError(current.error().message());
    open(context_.own, context_.no_own, [&] { return OwnKernels::open(*context_.driver, context_.device); });
    if (wants == cudnn) {
      const int sm = context_.properties.major * 10 + context_.properties.minor;
      open(context_.cudnn, context_.no_cudnn, [&] { return Cudnn::open(sm); });
    }
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

Result<std::unique_ptr<Library>> open_planning_library(const std::string& properties) {
  const Json json = Json::parse(properties, nullptr, /*allow_exceptions=*/false);
  const auto number = [&](const char* name) {
    return json.is_object() && json.contains(name) && json[name].is_number_integer() ? json[name].get<int64_t>() : int64_t{0};
  };
  const auto version = int(number("deviceVer"));  // 900: sm_90
  if (version <= 0) return Error("these are no properties of a GPU as cuDNN serialises them: 'deviceVer' is missing");
  LibraryContext context;
  context.properties.major = version / 100;
  context.properties.minor = version / 10 % 10;
  context.properties.multiprocessors = int(number("multiProcessorCount"));
  context.properties.memory_bytes = number("totalGlobalMem");
  context.properties.l2_bytes = int(number("l2CacheSize"));
  context.properties.name = json.value("deviceName", "");
  auto opened = Cudnn::open_planning(properties, version / 10);
  if (!opened) return opened.error();
  context.cudnn = std::move(*opened);
  return std::unique_ptr<Library>(std::make_unique<NvidiaLibrary>(std::move(context)));
}

}  // namespace sheaf::cuda
