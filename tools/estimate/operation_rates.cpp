#include "tools/estimate/operation_rates.h"

#include "runtime/cost/cost.h"
#include "runtime/cost/description.h"
#include "runtime/cpu/cpu_device.h"
#include "runtime/machine/thread_pool.h"
#include "runtime/plan/op_list.h"
#include "tools/estimate/stopwatch.h"

#include <algorithm>
#include <memory>
#include <set>
#include <string>
#include <vector>

namespace sheaf {
namespace {

constexpr int64_t kSide = 28;  // of images
/// Of the sets of operands that calls take in turns, all together: beyond the caches.
constexpr size_t kColdBytes = size_t{128} << 20;

struct LibraryOperation {
  Step step;
  std::vector<TensorSpec> inputs, outputs;
};

LibraryOperation library_operation(Op op, std::vector<std::string> roles, std::vector<TensorSpec> inputs,
                                   std::vector<TensorSpec> outputs, Json attributes = Json::object()) {
  LibraryOperation made{{}, std::move(inputs), std::move(outputs)};
  made.step.op = op;
  made.step.roles = std::move(roles);
  int value = 0;
  for (size_t i = 0; i < made.inputs.size(); ++i) made.step.inputs.push_back(value++);
  for (size_t i = 0; i < made.outputs.size(); ++i) made.step.outputs.push_back(value++);
  made.step.attributes = std::move(attributes);
  made.step.layer = "calibration";
  return made;
}

LibraryOperation product(int64_t side, DType dtype) {
  const TensorSpec square = plain_tensor(dtype, {side, side});
  return library_operation(Op::matmul, {"a", "b"}, {square, square}, {square});
}

/// Of the convolutions that stand for others, and of a batch norm.
constexpr int64_t kChannels = 64;

/// A convolution of `channels` channels, 3×3, its gradients, and a transposed one, 4×4 with a stride of 2. The gradient of a weight is
/// f32 (docs/precision.md).
std::vector<LibraryOperation> convolutions(int64_t rows, int64_t side, int64_t channels, int64_t groups, DType dtype) {
  const int64_t each = channels / groups;
  const std::vector<int64_t> taps = {channels, each, 3, 3};
  const TensorSpec image = plain_tensor(dtype, {rows, channels, side, side}), weight = plain_tensor(dtype, taps),
                   small = plain_tensor(dtype, {rows, channels, side / 2, side / 2}),
                   wide = plain_tensor(dtype, {channels, each, 4, 4}), dweight = plain_tensor(DType::float32, taps);
  const Json ones = Json::array({1, 1}), twos = Json::array({2, 2}), none = Json::array({0, 0});
  const Json conv = {{"stride", ones}, {"padding_begin", ones}, {"padding_end", ones}, {"dilation", ones}, {"groups", groups}};
  Json data = conv, gradient = conv;
  data["size"] = Json::array({side, side});
  gradient["kernel_size"] = Json::array({3, 3});
  gradient["bias"] = false;
  const Json transposed = {
      {"stride", twos}, {"padding", ones}, {"output_padding", none}, {"dilation", ones}, {"groups", groups}};
  return {
      library_operation(Op::conv, {"x", "weight"}, {image, weight}, {image}, conv),
      library_operation(Op::conv_backward_data, {"dy", "weight"}, {image, weight}, {image}, data),
      library_operation(Op::conv_backward_weight, {"x", "dy"}, {image, image}, {dweight}, gradient),
      library_operation(Op::conv_transpose, {"x", "weight"}, {small, wide}, {image}, transposed),
  };
}

/// A linear layer and its gradients, whose products are narrower than tall or the reverse, as most are.
std::vector<LibraryOperation> linears(DType dtype) {
  constexpr int64_t kRows = 512, kIn = 256, kOut = 1024;
  const TensorSpec x = plain_tensor(dtype, {kRows, kIn}), y = plain_tensor(dtype, {kRows, kOut}),
                   weight = plain_tensor(dtype, {kOut, kIn}), bias = plain_tensor(DType::float32, {kOut}),
                   dweight = plain_tensor(DType::float32, {kOut, kIn});
  return {
      library_operation(Op::linear, {"x", "weight", "bias"}, {x, weight, bias}, {y}),
      library_operation(Op::linear_backward_data, {"dy", "weight"}, {y, weight}, {x}),
      library_operation(Op::linear_backward_weight, {"x", "dy"}, {x, y}, {dweight, bias}, {{"bias", true}}),
  };
}

/// What a training step keeps for its gradient (runtime/cpu/ops/workspace.h).
TensorSpec workspace() { return plain_tensor(DType::uint8, {1}); }

/// Batch norm of a training step with a relu, as most have one.
LibraryOperation batch_norm(const TensorSpec& image, const Json& attributes) {
  const TensorSpec channels = plain_tensor(image.dtype, {image.dims[1]});
  return library_operation(Op::batch_norm_train, {"x", "weight", "bias"}, {image, channels, channels},
                           {image, channels, channels, workspace()}, attributes);
}

LibraryOperation batch_norm_backward(const TensorSpec& image, const TensorSpec& kept, const Json& attributes) {
  const TensorSpec channels = plain_tensor(image.dtype, {image.dims[1]});
  return library_operation(Op::batch_norm_backward, {"x", "dy", "mean", "var", "weight", "workspace"},
                           {image, image, channels, channels, channels, kept}, {image, channels, channels}, attributes);
}

/// An LSTM of 16 time steps, whose products have few rows each: in inference, in training, its gradient.
class Lstm {
 public:
  LibraryOperation forward(Op op) const {
    std::vector<TensorSpec> results = {sequence_, state_, state_};
    if (op == Op::lstm_train) results.push_back(workspace());
    return library_operation(op, kRoles, operands(), results, kAttributes);
  }
  LibraryOperation backward(const TensorSpec& kept) const {
    std::vector<TensorSpec> inputs = operands();
    std::vector<std::string> roles = kRoles;
    for (const auto& [role, tensor] :
         {std::pair("y", &sequence_), {"h", &state_}, {"c", &state_}, {"workspace", &kept}, {"dy", &sequence_}}) {
      roles.emplace_back(role);
      inputs.push_back(*tensor);
    }
    return library_operation(Op::lstm_backward, roles, inputs, operands(), kAttributes);
  }

 private:
  std::vector<TensorSpec> operands() const { return {sequence_, weight_, weight_, bias_, bias_}; }

  static constexpr int64_t kSteps = 16, kRows = 32, kHidden = 256;
  const std::vector<std::string> kRoles = {"x", "weight_ih_l0", "weight_hh_l0", "bias_ih_l0", "bias_hh_l0"};
  const Json kAttributes = {
      {"hidden_size", kHidden}, {"num_layers", 1}, {"bidirectional", false}, {"batch_first", false}, {"bias", true}};
  const TensorSpec sequence_ = plain_tensor(DType::float32, {kSteps, kRows, kHidden}),
                   state_ = plain_tensor(DType::float32, {1, kRows, kHidden}),
                   weight_ = plain_tensor(DType::float32, {4 * kHidden, kHidden}),
                   bias_ = plain_tensor(DType::float32, {4 * kHidden});
};

/// The CPU's memory, aligned as in a run: for a misaligned operand each access becomes two.
class OperandMemory {
 public:
  OperandMemory() = default;
  ~OperandMemory() {
    for (void* buffer : buffers_) cpu_device()->release(buffer);
  }
  OperandMemory(const OperandMemory&) = delete;
  OperandMemory& operator=(const OperandMemory&) = delete;

  /// Room for `bytes`, full of 0.5. Errors: there is no memory.
  Result<void> add(size_t bytes) {
    const size_t floats = bytes / sizeof(float) + 1;
    SHEAF_ASSIGN(void* const buffer, cpu_device()->allocate(floats * sizeof(float)));
    buffers_.push_back(buffer);
    std::fill_n(static_cast<float*>(buffer), floats, 0.5F);
    return {};
  }
  const std::vector<void*>& buffers() const { return buffers_; }

 private:
  std::vector<void*> buffers_;
};

struct Measured {
  double seconds = 0, flops = 0;
  std::vector<TensorSpec> outputs;  ///< in the formats that the operation prefers
  double rate() const { return flops / seconds; }
};

/// `operation` for a lane of `threads` threads, by `candidate`; "": the cost model's choice.
Result<Prepared> prepare(const LibraryOperation& operation, int threads, bool fast_numerics,
                         const std::string& candidate = "") {
  static const Plan plan;
  const auto constant = std::make_unique<bool[]>(operation.inputs.size());
  const OneChoice choice(candidate);
  PrepareRequest request{operation.step,
                         plan,
                         operation.inputs,
                         operation.outputs,
                         threads,
                         fast_numerics,
                         {constant.get(), operation.inputs.size()}};
  request.choices = &choice;
  return cpu_device()->prepare(request);
}

enum class Operands { cached, from_memory };

Result<Measured> measure(const LibraryOperation& operation, int threads, Operands operands, Prepared prepared) {
  size_t bytes = 0;
  for (const auto* tensors : {&prepared.inputs, &prepared.outputs})
    for (const TensorSpec& tensor : *tensors) bytes += tensor.bytes;
  const size_t sets = operands == Operands::cached ? 1 : kColdBytes / bytes + 1;
  OperandMemory memory;
  for (size_t set = 0; set < sets; ++set)
    for (const auto* tensors : {&prepared.inputs, &prepared.outputs})
      for (const TensorSpec& tensor : *tensors) SHEAF_TRY(memory.add(tensor.bytes));
  SHEAF_TRY(memory.add(prepared.scratch_bytes));
  void* const scratch = memory.buffers().back();
  const size_t each = prepared.inputs.size() + prepared.outputs.size();
  size_t set = 0;
  const TeamSize team(threads);
  const double once = least_seconds([&] {
    prepared.executable->run(memory.buffers().data() + each * set, scratch);
    set = (set + 1) % sets;
  });
  return Measured{once, operation_cost(Plan(), operation.step, operation.inputs, operation.outputs).flops,
                  std::move(prepared.outputs)};
}

/// With strict numerics.
Result<Measured> measure(const LibraryOperation& operation, int threads, Operands operands) {
  SHEAF_ASSIGN(auto prepared, prepare(operation, threads, false));
  return measure(operation, threads, operands, std::move(prepared));
}

/// The candidates that only fast numerics allow.
Result<std::vector<std::string>> fast_candidates(const LibraryOperation& operation, int threads) {
  std::set<std::string> strict;
  SHEAF_ASSIGN(const auto without, prepare(operation, threads, false));
  for (const auto& candidate : without.selection->candidates) strict.insert(candidate.name);
  std::vector<std::string> names;
  SHEAF_ASSIGN(const auto with, prepare(operation, threads, true));
  for (const auto& candidate : with.selection->candidates)
    if (!strict.contains(candidate.name)) names.push_back(candidate.name);
  return names;
}

}  // namespace

Result<OperationRates> operation_rates(int threads, DType dtype) {
  OperationRates rates;
  // Large enough to reach its best speed, small enough to fit between two interruptions.
  SHEAF_ASSIGN(const Measured square, measure(product(threads <= 4 ? 512 : 1024, dtype), threads, Operands::cached));
  rates.product = square.rate();
  for (const int64_t channels : {1, 8, 16, 64, 256}) {
    // All have as many values; those of many channels smaller images, as in models, instead of fewer, since products over the batch need
    // rows. One channel is a group of many.
    const int64_t together = channels == 1 ? kChannels : channels, side = together > kChannels ? kSide / 2 : kSide;
    const int64_t rows = 16 * threads * kChannels * kSide * kSide / (together * side * side);
    for (const LibraryOperation& operation : convolutions(rows, side, together, together / channels, dtype)) {
      SHEAF_ASSIGN(const Measured measured, measure(operation, threads, Operands::from_memory));
      rates.by_channels[operation.step.op].emplace_back(channels, measured.rate());
      if (channels == kChannels) rates.operations[operation.step.op] = measured.rate();
      SHEAF_ASSIGN(const auto names, fast_candidates(operation, threads));
      for (const std::string& name : names) {
        SHEAF_ASSIGN(auto prepared, prepare(operation, threads, true, name));
        SHEAF_ASSIGN(const Measured fast, measure(operation, threads, Operands::from_memory, std::move(prepared)));
        rates.fast_by_channels[operation.step.op][name].emplace_back(channels, fast.rate());
      }
    }
  }
  const auto add = [&](const LibraryOperation& operation) -> Result<std::vector<TensorSpec>> {
    SHEAF_ASSIGN(Measured measured, measure(operation, threads, Operands::from_memory));
    rates.operations[operation.step.op] = measured.rate();
    return std::move(measured.outputs);
  };
  for (const LibraryOperation& operation : linears(dtype)) SHEAF_TRY(add(operation));
  if (dtype != DType::float32) return rates;  // what follows computes in f32 whatever its operands
  // As images lie with channels last; twice what convolutions have, since they pass over it twice.
  const TensorSpec image = plain_tensor(dtype, {32 * threads * kSide * kSide, kChannels});
  const Json attributes = {{"eps", 1e-5}, {"activation", {{"kind", "relu"}}}};
  SHEAF_ASSIGN(const auto normalised, add(batch_norm(image, attributes)));
  SHEAF_TRY(add(batch_norm_backward(image, normalised.back(), attributes)));
  const Lstm lstm;
  SHEAF_TRY(add(lstm.forward(Op::lstm)));
  SHEAF_ASSIGN(const auto trained, add(lstm.forward(Op::lstm_train)));
  SHEAF_TRY(add(lstm.backward(trained.back())));
  for (const auto& [like, op] :
       {std::pair(Op::lstm, Op::gru), {Op::lstm_train, Op::gru_train}, {Op::lstm_backward, Op::gru_backward}})
    rates.operations[op] = rates.operations[like];
  return rates;
}

Result<double> operation_overhead(int threads) {
  SHEAF_ASSIGN(const Measured small, measure(product(8, DType::float32), threads, Operands::cached));
  return small.seconds;
}

}  // namespace sheaf
