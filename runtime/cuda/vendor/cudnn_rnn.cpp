// LSTM, GRU and RNN, their training steps and gradients.
#include "runtime/cuda/vendor/cudnn_rnn_operation.h"
#include "runtime/ops/recurrent.h"
#include "runtime/plan/op_list.h"

#include <cstdlib>

namespace sheaf::cuda {
namespace {

/// What a training step keeps for its gradient: cuDNN's reserve space.
class RnnReserve final : public Format {
 public:
  explicit RnnReserve(size_t bytes) : bytes(bytes) {}
  bool equals(const Format& other) const override {
    const auto* that = dynamic_cast<const RnnReserve*>(&other);
    return that && that->bytes == bytes;
  }
  std::string name() const override { return "cuDNN's reserve space"; }
  const size_t bytes;
};

class RnnBuilder {
 public:
  RnnBuilder(const PrepareRequest& request, LibraryContext& context)
      : operands_(request),
        context_(context),
        lstm_(gates_of(request.step.op) == 4),
        training_(traits(request.step.op).pass == Pass::training),
        backward_(traits(request.step.op).pass == Pass::backward) {
    std::vector<Dims> results = output_dims(operands_);
    if (backward_) {
      results = {operands_.operand("y").dims, operands_.operand("h").dims};
      if (lstm_) results.push_back(operands_.operand("c").dims);
    }
    values_ = results.size();
    shape_ = rnn_shape(operands_, gates_of(request.step.op), results);
    require(backward_ || request.outputs.size() == values_ + (training_ ? 1 : 0),
            training_ ? "expected a workspace as the last output" : "only training keeps a workspace");
    for (const int64_t size : {shape_.steps, shape_.rows, shape_.features, shape_.layers * shape_.directions, shape_.hidden})
      require(size <= INT32_MAX, "a size of " + std::to_string(size) + " is larger than cuDNN's");
  }

  Prepared build() {
    prepared_ = operands_.prepared();
    operation_ = std::make_unique<RnnOperation>();
    const bool empty = shape_.steps == 0 || shape_.rows == 0;
    if (!empty) describe();
    if (training_) give_workspace(empty ? 1 : descriptors().reserve_bytes);
    if (backward_) take_gradients(empty);
    if (empty) pass_states();
    else place();
    if (!context_.planning()) finish();
    return std::move(prepared_);
  }

 private:
  RnnDescriptors& descriptors() { return *operation_->descriptors; }
  MemoryRef in(std::string_view role) const {
    const int index = operands_.find(role);
    return index < 0 ? MemoryRef{} : MemoryRef{index, 0};
  }
  MemoryRef out(size_t index) const { return {int(operands_.request.inputs.size() + index), 0}; }

  void describe() {
    const bool fast = operands_.request.fast_numerics;
    if (!context_.planning()) {
      require(context_.cudnn != nullptr, context_.no_cudnn);
      auto current = context_.driver->make_current(context_.device);
      require(bool(current), current ? "" : current.error().message());
    }
    auto made =
        RnnDescriptors::make(context_.planning() ? nullptr : context_.cudnn->handle(), shape_, training_ || backward_, fast);
    require(bool(made), made ? "" : made.error().message());
    operation_->descriptors = std::move(*made);
    prepared_.implementation = "cuDNN RNN, standard algorithm";
    prepared_.reason = std::string("all layers and directions in one call, sums in a fixed order; f32 ") +
                       (fast ? "rounded to TF32 for the tensor cores (--numerics fast)" : "without tensor cores");
    if (context_.planning())
      prepared_.uncertain = "its workspace and what it keeps are an estimate: cuDNN tells them only on the GPU";
  }

  void give_workspace(size_t bytes) {
    TensorSpec& workspace = prepared_.outputs[values_];
    require(workspace.dtype == DType::uint8 && workspace.dims == Dims{1},
            "output " + std::to_string(values_) + ", the workspace, should be uint8 of shape [1]");
    workspace.bytes = bytes;
    workspace.format = std::make_shared<RnnReserve>(bytes);
    operation_->reserve = out(values_);
  }

  /// Outputs of a gradient: those of x and the states, then those of the weights and biases in the order of those operands.
  void take_gradients(bool empty) {
    operation_->reserve = in("workspace");
    require(operation_->reserve.buffer >= 0, "operand 'workspace' is missing");
    const TensorSpec& workspace = operands_.request.inputs[size_t(operation_->reserve.buffer)];
    const auto* format = dynamic_cast<const RnnReserve*>(workspace.format.get());
    require(format && (empty || format->bytes == descriptors().reserve_bytes),
            "operand 'workspace' is not one that " + to_string(recurrent_training(shape_.gates)) + " made");
    prepared_.inputs[size_t(operation_->reserve.buffer)] = workspace;
    gradients_ = rnn_gradients(operands_, shape_);
    operation_->dx = out(0);
    if (gradients_.has("h0")) operation_->dh0 = out(gradients_.of("h0"));
    if (gradients_.has("c0")) operation_->dc0 = out(gradients_.of("c0"));
  }

  /// A sequence of length 0: states and their gradients pass through.
  void pass_states() {
    prepared_.implementation = "copy";
    prepared_.reason = "a sequence of length 0: the states pass through";
    const auto bytes = [&](size_t output) { return prepared_.outputs[output].bytes; };
    if (!backward_) {
      operation_->before.push_back({in("h0"), out(1), bytes(1)});
      if (lstm_) operation_->before.push_back({in("c0"), out(2), bytes(2)});
      return;
    }
    for (const auto& [from, to] : {std::pair("dh", operation_->dh0), std::pair("dc", operation_->dc0)})
      if (to.buffer >= 0)
        operation_->before.push_back({in(from), to, bytes(size_t(to.buffer) - operands_.request.inputs.size())});
    for (size_t output = gradients_.first_weight; output < gradients_.roles.size(); ++output)
      operation_->before.push_back({{}, out(output), bytes(output)});
  }

  void place() {
    RnnOperation& o = *operation_;
    const RnnDescriptors& d = descriptors();
    size_t scratch = 0;
    o.weights = take_scratch(scratch, d.weight_bytes);
    o.workspace = take_scratch(scratch, d.workspace_bytes);
    o.length_list = take_scratch(scratch, size_t(shape_.rows) * sizeof(int32_t));
    for (const RnnWeightPart& part : d.parts)
      o.before.push_back(
          {{in(part.role).buffer, part.offset}, {o.weights.buffer, o.weights.offset + part.in_space}, part.bytes});
    o.x = in("x");
    o.h0 = in("h0");
    o.c0 = in("c0");
    if (!backward_) {
      o.y = out(0);
      o.h = out(1);
      if (lstm_) o.c = out(2);
    } else {
      o.y = in("y");
      o.dy = in("dy");
      o.dh = in("dh");
      o.dc = in("dc");
      if (o.dy.buffer < 0) {  // cuDNN wants one
        const size_t bytes = operands_.operand("y").bytes;
        o.dy = take_scratch(scratch, bytes);
        o.before.push_back({{}, o.dy, bytes});
      }
      o.dweights = take_scratch(scratch, d.weight_bytes);
      o.before.push_back({{}, o.dweights, d.weight_bytes});  // cuDNN adds to the existing contents
      for (const RnnWeightPart& part : d.parts)
        o.after.push_back({{o.dweights.buffer, o.dweights.offset + part.in_space},
                           {out(gradients_.of(part.role)).buffer, part.offset},
                           part.bytes});
    }
    prepared_.scratch_bytes = scratch;
  }

  void finish() {
    RnnOperation& o = *operation_;
    o.driver = context_.driver;
    o.device = context_.device;
    o.cudnn = context_.cudnn;
    o.lstm = lstm_;
    o.training = training_;
    o.backward = backward_;
    if (o.descriptors) {
      require(context_.own != nullptr, context_.no_own);
      o.kernels = context_.own;
      o.lengths.emplace(own_kernel(*o.kernels, "copy", "fill_i32"),
                        std::array<uint64_t, 3>{uint64_t(shape_.rows + 255) / 256, 1, 1});
      o.lengths->address(o.length_list).value(int32_t(shape_.steps)).value(uint32_t(shape_.rows));
    }
    prepared_.executable = std::move(operation_);
  }

  StepOperands operands_;
  LibraryContext& context_;
  const bool lstm_, training_, backward_;
  size_t values_ = 0;
  RnnShape shape_;
  RnnGradients gradients_;
  Prepared prepared_;
  std::unique_ptr<RnnOperation> operation_;
};

}  // namespace

Result<Prepared> prepare_rnn(const PrepareRequest& request, LibraryContext& context) {
  return RnnBuilder(request, context).build();
}

}  // namespace sheaf::cuda
