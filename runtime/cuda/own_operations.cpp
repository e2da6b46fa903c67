#include "runtime/cuda/own_operations.h"

#include "runtime/cuda/format.h"
#include "runtime/cuda/grid.h"

#include <algorithm>
#include <bit>

namespace sheaf::cuda {
namespace {

class CheckFinite final : public Operation {
 public:
  /// `reports`: an int32 in pinned memory for each phase of runs, released with this.
  CheckFinite(std::shared_ptr<OwnKernels> kernels, Function function, int32_t* reports)
      : kernels_(std::move(kernels)), function_(function), reports_(reports) {
    reports_[0] = reports_[1] = 0;
    own = {{reports_, 2 * sizeof *reports_, true}};
  }
  ~CheckFinite() override { kernels_->driver().release_pinned(reports_); }
  Result<void> enqueue(const Enqueue& at) override {
    const void* x = at.buffers[0];
    int32_t *flag = at.flag, *report = reports_ + at.phase;
    void* arguments[] = {&x, &flag, &report};
    Launch launch;
    launch.function = function_;
    launch.arguments = arguments;
    return kernels_->driver().launch(at.stream, launch);
  }
  bool reports_by_phase() const override { return true; }
  bool failed(int phase) const override { return reports_[phase] != 0; }
  std::string failure(int phase) const override { return failed(phase) ? "the loss is not finite" : ""; }

 private:
  std::shared_ptr<OwnKernels> kernels_;
  Function function_;
  int32_t* reports_;
};

/// [batch][rows][columns] to [batch][columns][rows].
KernelCall transpose(Function function, uint64_t batch, uint64_t rows, uint64_t columns) {
  // Tiles of 1024 elements: 32 × 32, or longer where one side is shorter than that.
  const auto bits_of = [](uint64_t size) { return uint32_t(std::clamp(int(std::bit_width(size - 1)), 1, 5)); };
  uint32_t column_bits = bits_of(columns), row_bits = bits_of(rows);
  if (column_bits <= row_bits) row_bits = 10 - column_bits;
  else column_bits = 10 - row_bits;
  const auto tiles = [](uint64_t size, uint32_t bits) { return (size + (uint64_t{1} << bits) - 1) >> bits; };
  KernelCall call(function, {tiles(columns, column_bits), std::min<uint64_t>(tiles(rows, row_bits), kMostGridRows),
                             std::min<uint64_t>(batch, kMostGridRows)});
  call.address({1, 0}).address({0, 0});
  return call.value(batch).value(rows).value(columns).value(row_bits).value(column_bits).guard();
}

}  // namespace

Result<Prepared> prepare_own_reorder(const TensorSpec& from, const TensorSpec& to, const std::shared_ptr<OwnKernels>& kernels) {
  const auto known = [](const TensorSpec& tensor) { return tensor.plain() || is_channels_last(tensor); };
  const auto name = [](const TensorSpec& tensor) { return tensor.plain() ? std::string("plain") : tensor.format->name(); };
  const std::string what = "reorder of " + to_string(from.dims) + " from " + name(from) + " to " + name(to);
  if (from.dtype != to.dtype || from.dims != to.dims) return Error(what + ": the tensors differ in dims or dtype");
  Prepared prepared;
  prepared.inputs = {from};
  prepared.outputs = {to};
  if (same_format(from, to)) {
    prepared.implementation = "copy";
    prepared.reason = "both formats are the same";
    if (!kernels) return prepared;
    const size_t bytes = std::min(from.bytes, to.bytes);
    std::vector<KernelCall> calls;
    if (bytes != 0) {
      SHEAF_ASSIGN(auto function, kernels->find("copy", "copy_bytes"));
      const uint64_t blocks = std::min<uint64_t>((bytes + 256 * 16 - 1) / (256 * 16), kernels->most_blocks());
      calls.push_back(KernelCall(function, {blocks, 1, 1}).address({1, 0}).address({0, 0}).value(uint64_t(bytes)).guard());
    }
    prepared.executable = std::make_unique<KernelOperation>(kernels, std::move(calls), true);
    return prepared;
  }
  if (!known(from) || !known(to)) return Error(what + ": a format is not plain or channels last");
  const int64_t positions = product(from.dims, 2, from.dims.size());
  const auto batch = uint64_t(from.dims[0]);
  auto rows = uint64_t(from.dims[1]), columns = uint64_t(positions);
  if (is_channels_last(from)) std::swap(rows, columns);
  prepared.implementation = "transpose";
  prepared.reason = "the project's own kernel: " + name(from) + " to " + name(to) +
                    " exchanges rows and columns of matrices, by tiles in shared memory";
  if (!kernels) return prepared;
  std::vector<KernelCall> calls;
  if (batch * rows * columns != 0) {
    SHEAF_ASSIGN(auto function, kernels->find("copy", "transpose_" + std::to_string(size_of(from.dtype))));
    KernelCall call = transpose(function, batch, rows, columns);
    calls.push_back(std::move(call));
  }
  prepared.executable = std::make_unique<KernelOperation>(kernels, std::move(calls), true);
  return prepared;
}

Prepared prepare_own_reduce(const PrepareRequest& request, const std::shared_ptr<OwnKernels>& kernels) {
  const StepOperands operands(request);
  require(!request.inputs.empty() && request.outputs.size() == 1, "expected inputs and one output");
  const TensorSpec& y = operands.output();
  for (size_t i = 0; i < request.inputs.size(); ++i) {
    const std::string role = "x" + std::to_string(i);
    const TensorSpec& x = operands.operand(role);
    require(operands.find(role) == int(i), "the inputs should stand in the order x0, x1, …");
    require(x.dims == y.dims, role + " has shape " + to_string(x.dims) + ", expected the output's " + to_string(y.dims));
  }
  Prepared prepared;
  prepared.inputs.assign(request.inputs.size(), request.inputs[0]);
  prepared.outputs = {request.inputs[0]};
  prepared.in_place = {{0, 0}};
  prepared.implementation = "sum in order";
  prepared.reason = "the project's own kernel: adds in the order of the replicas, so that the bits are the same each time";
  const int count = int(request.inputs.size());
  // Each launch but the first adds to what those before have made.
  const int launches = 1 + (std::max(0, count - int(kAddends)) + int(kAddends) - 2) / (int(kAddends) - 1);
  if (!kernels) {
    prepared.executable = planned_launches_of(launches);
    return prepared;
  }

  const auto elements = uint64_t(request.inputs[0].bytes / size_of(operands.dtype()));
  std::vector<KernelCall> calls;
  for (int next = 0; elements != 0 && next < count;) {
    std::vector<MemoryRef> addends;
    if (next > 0) addends.push_back({count, 0});  // what the launches before have made
    while (next < count && addends.size() < kAddends) addends.push_back({next++, 0});
    calls.push_back(sum_call(*kernels, {count, 0}, addends, operands.dtype(), elements));
  }
  prepared.executable = std::make_unique<KernelOperation>(kernels, std::move(calls), true);
  return prepared;
}

Prepared prepare_own_check_finite(const PrepareRequest& request, const std::shared_ptr<OwnKernels>& kernels) {
  const StepOperands operands(request);
  require(operands.wide_operand("x").dims.empty() && request.inputs.size() == 1, "expected one input, a scalar");
  require(request.outputs.empty(), "it has no output");
  Prepared prepared = operands.prepared();
  prepared.implementation = "check";
  prepared.reason = "the project's own kernel looks at one number and sets the queue's flag, which guarded work looks at";
  prepared.can_fail = true;
  if (!kernels) return prepared;
  const Function function = own_kernel(*kernels, "copy", "check_finite");
  auto report = kernels->driver().allocate_pinned(2 * sizeof(int32_t));
  require(bool(report), report ? "" : report.error().message());
  prepared.executable = std::make_unique<CheckFinite>(kernels, function, static_cast<int32_t*>(*report));
  return prepared;
}

}  // namespace sheaf::cuda
