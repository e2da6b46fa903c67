#include "tools/estimate/operation_rates.h"

#include "runtime/cost/cost.h"
#include "runtime/cost/description.h"
#include "runtime/cpu/cpu_device.h"
#include "runtime/machine/thread_pool.h"
#include "runtime/plan/op_list.h"
#include "tools/estimate/library_operation.h"
#include "tools/estimate/stopwatch.h"

#include <algorithm>
#include <memory>
#include <set>
#include <string>
#include <vector>

namespace sheaf {
namespace {

constexpr int64_t kSide = 28;      // of images
constexpr int64_t kChannels = 64;  // of the convolutions that stand for others, and of a batch norm
/// Of the sets of operands that calls take in turns, all together: beyond the caches.
constexpr size_t kColdBytes = size_t{128} << 20;

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

/// The candidates that only fast numerics allow, unlike those of `without`.
Result<std::vector<std::string>> fast_candidates(const LibraryOperation& operation, int threads, const Selection& without) {
  std::set<std::string> strict;
  for (const auto& candidate : without.candidates) strict.insert(candidate.name);
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
      SHEAF_ASSIGN(auto strict, prepare(operation, threads, false));
      SHEAF_ASSIGN(const auto names, fast_candidates(operation, threads, *strict.selection));
      SHEAF_ASSIGN(const Measured measured, measure(operation, threads, Operands::from_memory, std::move(strict)));
      rates.by_channels[operation.step.op].emplace_back(channels, measured.rate());
      if (channels == kChannels) rates.operations[operation.step.op] = measured.rate();
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
  SHEAF_TRY(add(lstm(Op::lstm)));
  SHEAF_ASSIGN(const auto trained, add(lstm(Op::lstm_train)));
  SHEAF_TRY(add(lstm_backward(trained.back())));
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
