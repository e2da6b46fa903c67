// Linear layers and their gradients.
#include "runtime/cuda/channel_sums.h"
#include "runtime/cuda/vendor/cublaslt_operation.h"

#include <algorithm>

namespace sheaf::cuda {
namespace {

int outputs_begin(const StepOperands& operands) { return int(operands.request.inputs.size()); }

MemoryRef input(const StepOperands& operands, std::string_view role) {
  const int index = operands.find(role);
  return index < 0 ? MemoryRef{} : MemoryRef{index, 0};
}

/// The part of a layer's activation that the product's epilogue does.
struct Epilogue {
  cublasLtEpilogue_t kind = CUBLASLT_EPILOGUE_DEFAULT;
  bool activation = false;  ///< done by it
  std::string why;          ///< for explain; empty if there is no activation
};

Epilogue epilogue_of(const std::optional<KernelActivation>& activation, DType dtype, bool fast) {
  if (!activation) return {};
  if (activation->kind == KernelActivation::relu && activation->alpha == 0) {
    if (fast) return {CUBLASLT_EPILOGUE_RELU, true, "ReLU in the product's epilogue"};
    return {CUBLASLT_EPILOGUE_DEFAULT, false,
            "ReLU by the project's own kernel behind it, which keeps NaN; cuBLASLt's epilogue, max(x, 0), need not "
            "(--numerics fast takes it)"};
  }
  if (activation->kind == KernelActivation::gelu_tanh) {
    if (fast || dtype != DType::float32) return {CUBLASLT_EPILOGUE_GELU, true, "GELU's tanh form in the product's epilogue"};
    return {CUBLASLT_EPILOGUE_DEFAULT, false,
            "GELU by the project's own kernel behind it: cuBLASLt's is not said to be exact in f32 (--numerics fast takes it)"};
  }
  return {CUBLASLT_EPILOGUE_DEFAULT, false,
          activation->name + " by the project's own kernel behind it: cuBLASLt has no such epilogue"};
}

/// Builds linear's executable.
class LinearBuilder {
 public:
  LinearBuilder(const PrepareRequest& request, LibraryContext& context)
      : operands_(request), context_(context), activation_(kernel_activation_of(request.step)) {
    const TensorSpec &x = operands_.operand("x"), &weight = operands_.operand("weight"), &y = operands_.output();
    require(!x.dims.empty() && weight.dims.size() == 2 && x.dims.back() == weight.dims[1],
            "x " + to_string(x.dims) + " and weight " + to_string(weight.dims) + " don't fit");
    in_ = weight.dims[1];
    out_ = weight.dims[0];
    rows_ = product(x.dims, 0, x.dims.size() - 1);
    Dims expected = x.dims;
    expected.back() = out_;
    require(y.dims == expected, "output has shape " + to_string(y.dims) + ", expected " + to_string(expected));
    if (operands_.has("bias"))
      require(operands_.wide_operand("bias").dims == Dims{out_}, "bias should have shape " + to_string(Dims{out_}));
    if (operands_.has("residual"))
      require(operands_.operand("residual").dims == y.dims, "residual should have shape " + to_string(y.dims));
  }

  Prepared build() {
    prepared_ = operands_.prepared();
    if (operands_.has("residual")) prepared_.in_place.push_back({operands_.find("residual"), 0});
    if (!context_.planning()) operation_ = std::make_unique<ProductOperation>(*context_.driver, context_.device, context_.own);
    if (in_ == 0) build_without_product();
    else build_product();
    if (operation_) prepared_.executable = std::move(operation_);
    else prepared_.executable = planned_launches_of(launches_);
    return std::move(prepared_);
  }

 private:
  MemoryRef y() const { return {outputs_begin(operands_), 0}; }

  /// No input features: the result is the bias.
  void build_without_product() {
    if (operation_) operation_->zeros.push_back({y(), prepared_.outputs[0].bytes});
    add_after(input(operands_, "residual"));
    prepared_.implementation = "kernel";
    prepared_.reason = "without input features the result is the bias";
  }

  void build_product() {
    LtRequest request;
    request.product = linear_product(rows_, in_, out_);
    request.operands = request.result = operands_.dtype();
    request.a = input(operands_, "weight");
    request.b = input(operands_, "x");
    request.c = input(operands_, "residual");
    request.d = y();
    request.fast = operands_.request.fast_numerics;
    request.deterministic = operands_.request.deterministic;
    Epilogue epilogue = epilogue_of(activation_, operands_.dtype(), request.fast);
    Chosen chosen = choose(request, epilogue);
    if (!chosen.found && epilogue.kind != CUBLASLT_EPILOGUE_DEFAULT) {
      epilogue = {CUBLASLT_EPILOGUE_DEFAULT, false,
                  "its activation by the project's own kernel behind it: cuBLASLt has no algorithm with it for these sizes"};
      chosen = choose(request, epilogue);
    }
    if (!chosen.found && request.epilogue != CUBLASLT_EPILOGUE_DEFAULT) {
      bias_behind_ = true;
      epilogue.why = "bias by the project's own kernel behind it: cuBLASLt has no algorithm with it for these sizes";
      chosen = choose(request, epilogue);
    }
    require(chosen.found, "cuBLASLt has no algorithm for a product of these sizes and types");
    explain_product(context_, request, chosen.product.get(), epilogue.why, prepared_);
    if (operation_) operation_->product = std::move(chosen.product);
    if ((activation_ && !epilogue.activation) || bias_behind_) add_after({});
  }

  /// The project's kernel after the product adds the bias too, as f32; an epilogue wants it in y's type.
  Chosen choose(LtRequest& request, const Epilogue& epilogue) {
    size_t scratch = 0;
    const bool in_epilogue = operands_.has("bias") && !bias_behind_ && !(activation_ && !epilogue.activation);
    request.epilogue = epilogue.kind;
    request.bias = {};
    launches_ = 1;
    if (in_epilogue) {
      request.epilogue = cublasLtEpilogue_t(
          epilogue.kind == CUBLASLT_EPILOGUE_DEFAULT ? CUBLASLT_EPILOGUE_BIAS : epilogue.kind | CUBLASLT_EPILOGUE_BIAS);
      request.bias = input(operands_, "bias");
    }
    // An epilogue takes a bias only in y's type, however narrow.
    if (operands_.has("bias"))
      prepared_.inputs[size_t(operands_.find("bias"))] =
          plain_tensor(in_epilogue ? operands_.dtype() : DType::float32, Dims{out_});
    Chosen chosen = choose_product(context_, request, scratch);
    prepared_.scratch_bytes = scratch;
    return chosen;
  }

  /// The kernel after the product: bias, `residual` (if the product hasn't added it), activation.
  void add_after(MemoryRef residual) {
    ++launches_;
    if (!operation_) return;
    ActivationCall call;
    call.y = call.x = y();
    call.bias = input(operands_, "bias");
    call.residual = residual;
    call.dtype = operands_.dtype();
    call.elements = rows_ * out_;
    call.channels = out_;
    if (activation_) call.activation = *activation_;
    add_activation(operation_->after, own_kernels_of(context_), call);
  }

  StepOperands operands_;
  LibraryContext& context_;
  std::optional<KernelActivation> activation_;
  int64_t rows_, in_, out_;
  bool bias_behind_ = false;
  int launches_ = 1;
  Prepared prepared_;
  std::unique_ptr<ProductOperation> operation_;
};

}  // namespace

Result<Prepared> prepare_linear(const PrepareRequest& request, LibraryContext& context) {
  return LinearBuilder(request, context).build();
}

}  // namespace sheaf::cuda
