// Batch norm by its own batch's statistics and its gradient, by the project's own kernels: ReLU with them, the addition before it, and
// its gradient's. Why not cuDNN's: docs/cuda-engines.md.
#include "runtime/cuda/channel_sums.h"
#include "runtime/cuda/format.h"
#include "runtime/cuda/own_operations.h"
#include "runtime/cuda/vector_norm.h"
#include "runtime/plan/op_list.h"

namespace sheaf::cuda {
namespace {

/// A workspace: where ReLU let through, a bit an element in the order in which x lay.
class NormWorkspace final : public Format {
 public:
  NormWorkspace(bool channels_last, size_t bytes) : channels_last(channels_last), bytes(bytes) {}
  bool equals(const Format& other) const override {
    const auto* that = dynamic_cast<const NormWorkspace*>(&other);
    return that && channels_last == that->channels_last && bytes == that->bytes;
  }
  std::string name() const override { return "where ReLU passed"; }

  const bool channels_last;
  const size_t bytes;
};

void require_channels(const Dims& dims, int64_t count, const char* name) {
  require(dims == Dims{count}, std::string(name) + " should have shape " + to_string(Dims{count}));
}

class NormBuilder {
 public:
  NormBuilder(const PrepareRequest& request, const std::shared_ptr<OwnKernels>& kernels, const DeviceProperties& gpu)
      : operands_(request), kernels_(kernels), prepared_(operands_.prepared()) {
    constexpr int kBlocksByMultiprocessor = 2;  // by the kernels' bounds
    call_.most_together = OwnKernels::most_together(gpu, kBlocksByMultiprocessor);
    if (kernels && call_.most_together > 0) {
      call_.word = kernels->meeting_word();
      if (!call_.word) call_.most_together = 0;
    }
    const TensorSpec& x = operands_.operand("x");
    call_.dims = x.dims;
    call_.dtype = operands_.dtype();
    require(x.dims.size() >= 2 && x.dims.size() <= 5,
            "x has shape " + to_string(x.dims) + ", expected [N, C, …] with up to 3 more dims");
    const int64_t positions = product(x.dims, 2, x.dims.size());
    require(x.dims[0] * positions != 1,
            "expected more than 1 value per channel when training, got input size " + to_string(x.dims));
    const auto& attributes = request.step.attributes;
    const auto eps = attributes.find("eps");
    require(eps != attributes.end() && eps->is_number() && eps->get<double>() >= 0,
            "attribute 'eps' should be a number, at least 0");
    call_.eps = float(eps->get<double>());
    affine_ = operands_.has("weight");
    if (affine_) require_channels(operands_.wide_operand("weight").dims, channels(), "weight");
    if (const auto activation = kernel_activation_of(request.step)) {
      require(activation->kind == KernelActivation::relu && activation->alpha == 0, "only relu goes with batch norm");
      call_.relu = true;
    }
    call_.channels_last = is_channels_last(x) || positions == 1;
    call_.x = input("x");
    call_.weight = input("weight");
    call_.x_bias = input("x_bias");
    if (operands_.has("x_bias")) require_channels(operands_.wide_operand("x_bias").dims, channels(), "x_bias");
  }

  /// With the convolution behind it (runtime/bind/join_convolutions.h).
  bool joined() const { return operands_.has("slopes"); }

  Prepared forward() {
    require(operands_.has("bias") == affine_, "weight and bias should be given together");
    if (affine_) require_channels(operands_.wide_operand("bias").dims, channels(), "bias");
    const auto& outputs = operands_.request.outputs;
    call_.given = operands_.has("mean");
    const size_t results = call_.given ? 1 : 3;  // without the mask
    const bool masked = outputs.size() == results + 1, residual = operands_.has("residual");
    require(masked ? call_.relu : outputs.size() == results,
            "expected " + std::to_string(results) + " outputs, with ReLU one more at most");
    require(!residual || (call_.relu && operands_.operand("residual").dims == call_.dims),
            "a residual goes with ReLU, and has x's shape");
    require(operands_.output().dims == call_.dims, "output 0 should have x's shape");
    const auto statistic = [&](const char* role, size_t index) {
      require_channels((call_.given ? operands_.wide_operand(role) : operands_.wide_output(index)).dims, channels(), role);
      return call_.given ? input(role) : output(index);
    };
    call_.mean = statistic("mean", 1);
    call_.var = statistic("var", 2);
    prepared_.inputs[size_t(operands_.find("x"))] = prepared_.outputs[0] = placed();
    if (residual) prepared_.inputs[size_t(operands_.find("residual"))] = placed();
    if (masked) {
      require(outputs[results].dtype == DType::uint8 && outputs[results].dims == Dims{1},
              "the last output, the workspace, should be uint8 of shape [1]");
      prepared_.outputs[results].bytes = mask_bytes(call_.dims);
      prepared_.outputs[results].format =
          std::make_shared<NormWorkspace>(call_.channels_last, prepared_.outputs[results].bytes);
      call_.mask = output(results);
    }
    call_.bias = input("bias");
    call_.residual = input("residual");
    call_.y = output();
    if (call_.given) require_vectors();
    std::string with;
    if (call_.relu)
      with = residual ? ", with the addition and the ReLU (which keeps NaN) behind it"
                      : ", with the ReLU (which keeps NaN) behind it";
    return finished(add_batch_norm_train(calls_, kernels_.get(), call_, prepared_.scratch_bytes),
                    call_.given ? "one pass, by statistics that the convolution before it has made"
                    : goes_by_vectors(call_)
                        ? "statistics in one pass over x, about a mean of eight of its values, the rest in a second"
                        : "mean, squares about it and the rest in passes of their own",
                    with);
  }

  /// dx alone: all else is made by the gradient of the convolution behind the norm.
  Prepared by_slopes() {
    require(operands_.request.outputs.size() == 1, "expected 1 output");
    require(operands_.operand("dy").dims == call_.dims && operands_.output().dims == call_.dims,
            "dy and dx should have x's shape");
    require(operands_.wide_operand("slopes").dims == Dims{3, channels()}, "slopes should have shape [3, C]");
    for (const char* role : {"x", "dy"}) prepared_.inputs[size_t(operands_.find(role))] = placed();
    prepared_.outputs[0] = placed();
    prepared_.in_place.push_back({operands_.find("dy"), 0});
    call_.dy = input("dy");
    call_.dx = output();
    call_.slopes = input("slopes");
    require_vectors();
    return finished(add_batch_norm_backward(calls_, kernels_.get(), call_, prepared_.scratch_bytes),
                    "dx in one pass, by slopes that the gradient of the convolution behind it has made", "");
  }

  Prepared backward() {
    require(operands_.has("workspace") == call_.relu, "a workspace goes with relu");
    require_channels(operands_.wide_operand("mean").dims, channels(), "mean");
    require_channels(operands_.wide_operand("var").dims, channels(), "var");
    const size_t results = affine_ ? 3 : 1, given = operands_.request.outputs.size();
    const bool branches = call_.relu && given == results + 1;  // ReLU's gradient is wanted too
    require(branches || given == results, "expected " + std::to_string(results) + " outputs");
    const bool sum = operands_.has("dy2");
    require(!sum || call_.relu, "a second dy goes with relu");
    for (const char* role : {"dy", "dy2"})
      require(!operands_.has(role) || operands_.operand(role).dims == call_.dims,
              std::string(role) + " should have x's shape " + to_string(call_.dims));
    require(operands_.output().dims == call_.dims, "output 0 should have x's shape " + to_string(call_.dims));
    if (branches)
      require(operands_.output(results).dims == call_.dims, "ReLU's gradient should have x's shape " + to_string(call_.dims));
    for (size_t i = 1; i < results; ++i)
      require_channels(operands_.wide_output(i).dims, channels(), i == 1 ? "dweight" : "dbias");
    if (call_.relu) {
      const auto index = size_t(operands_.find("workspace"));
      const auto* made = dynamic_cast<const NormWorkspace*>(operands_.request.inputs[index].format.get());
      require(made, "operand 'workspace' is not one that batch_norm_train made");
      prepared_.inputs[index] = operands_.request.inputs[index];
      call_.channels_last = made->channels_last;
      call_.mask = input("workspace");
    }
    for (const char* role : {"x", "dy", "dy2"})
      if (operands_.has(role)) prepared_.inputs[size_t(operands_.find(role))] = placed();
    prepared_.outputs[0] = placed();
    if (branches) prepared_.outputs[results] = placed();
    else prepared_.in_place.push_back({operands_.find("dy"), 0});
    call_.dy = input("dy");
    call_.more = input("dy2");
    call_.dx = output();
    call_.mean = input("mean");
    call_.var = input("var");
    const auto statistic = [&](size_t index) {
      return affine_ ? output(index) : take_scratch(prepared_.scratch_bytes, size_t(channels()) * sizeof(float));
    };
    call_.dweight = statistic(1);
    call_.dbias = statistic(2);
    if (branches) call_.gradient = output(results);
    else if (sum) call_.gradient = take_scratch(prepared_.scratch_bytes, prepared_.outputs[0].bytes);
    std::string with;
    if (call_.relu)
      with = sum ? ", with the gradients of the ReLU and of the sum before it" : ", with the gradient of the ReLU before it";
    return finished(add_batch_norm_backward(calls_, kernels_.get(), call_, prepared_.scratch_bytes),
                    "the sums by channel in one pass, dx in a second", with);
  }

 private:
  int64_t channels() const { return call_.dims[1]; }
  void require_vectors() const {
    require(goes_by_vectors(call_), "what is joined with convolutions has channels last, a multiple of eight of them");
  }
  MemoryRef input(std::string_view role) const {
    const int index = operands_.find(role);
    return index < 0 ? MemoryRef{} : MemoryRef{index, 0};
  }
  MemoryRef output(size_t index = 0) const { return {int(operands_.request.inputs.size() + index), 0}; }
  TensorSpec placed() const {
    TensorSpec plain = plain_tensor(call_.dtype, call_.dims);
    return call_.channels_last ? channels_last(std::move(plain)) : plain;
  }

  Prepared finished(const NormWork& work, const std::string& how, const std::string& with) {
    prepared_.implementation = "kernel";
    prepared_.reason =
        "the project's own kernels" + with + ": " + how + (goes_by_vectors(call_) ? ", by vectors of eight channels" : "");
    if (work.meetings > 0)
      prepared_.reason += "; one launch does both, for all of its blocks are there at once and meet in between";
    if (!kernels_) {
      prepared_.executable = planned_launches_of(work.launches, work.bytes_again, work.meetings);
      return std::move(prepared_);
    }
    auto operation = std::make_unique<KernelOperation>(kernels_, std::move(calls_), false, work.bytes_again, work.meetings);
    if (work.meetings > 0) operation->keeps = call_.word;
    operation->operand_alignment = kOperandAlignment;
    prepared_.executable = std::move(operation);
    return std::move(prepared_);
  }

  StepOperands operands_;
  std::shared_ptr<OwnKernels> kernels_;
  Prepared prepared_;
  BatchNormCall call_;
  std::vector<KernelCall> calls_;
  bool affine_ = false;
};

}  // namespace

Prepared prepare_own_batch_norm(const PrepareRequest& request, const std::shared_ptr<OwnKernels>& kernels,
                                const DeviceProperties& gpu) {
  NormBuilder norm(request, kernels, gpu);
  if (request.step.op == Op::batch_norm_train) return norm.forward();
  return norm.joined() ? norm.by_slopes() : norm.backward();
}

}  // namespace sheaf::cuda
