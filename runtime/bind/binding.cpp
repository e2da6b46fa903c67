#include "runtime/bind/binding.h"

#include "runtime/base/exception.h"
#include "runtime/bind/planned_binding.h"
#include "runtime/machine/thread_pool.h"

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <cstdio>

namespace sheaf {
namespace {

size_t index_of(int i) { return static_cast<size_t>(i); }

bool aligned(const void* buffer, const TensorSpec& spec) {
  return reinterpret_cast<uintptr_t>(buffer) % size_of(spec.dtype) == 0;
}

/// PyTorch's warning, once per process as there.
void warn_of_scalars() {
  static std::atomic<bool> warned{false};
  if (warned.exchange(true, std::memory_order_relaxed)) return;
  std::fputs(
      "warning: Was asked to gather along dimension 0, but all input tensors were scalars; will instead unsqueeze "
      "and return a vector.\n",
      stderr);
}

/// What a binding asked for and didn't get, since it failed, must not be made for others.
class PlansForgotten {
 public:
  explicit PlansForgotten(ConstantStore& constants) : constants_(constants) {}
  ~PlansForgotten() { constants_.forget_plans(); }
  PlansForgotten(const PlansForgotten&) = delete;
  PlansForgotten& operator=(const PlansForgotten&) = delete;

 private:
  ConstantStore& constants_;
};

}  // namespace

Result<std::unique_ptr<Binding>> Binding::bind(const BindRequest& request) {
  std::unique_ptr<Binding> binding(new Binding);
  binding->devices_ = request.devices;
  binding->kernels_ = request.kernels;
  binding->constants_ = request.constants;
  binding->plan_ = &request.plan;
  binding->program_ = &request.program;
  binding->batch_ = request.batch;
  binding->trains_ = !request.program.updates.empty();
  const BindContext context{request.plan,          request.program,  *request.devices,      request.kernels,
                            *request.constants,    request.batch,    request.fast_numerics, request.explain,
                            request.deterministic, request.deadline, request.observe};
  const auto constants = request.constants->lock();
  request.constants->wait_at_most(request.deadline);
  for (int lane = 0; lane < request.devices->lanes(); ++lane) {
    request.constants->keep(request.devices->device(lane), request.devices);
  }
  const PlansForgotten forgotten(*request.constants);
  SHEAF_ASSIGN(auto planned, plan_binding(context));
  Graph& graph = planned.graph;
  SHEAF_TRY(check_fits(graph, planned.memory, *request.devices, *request.constants, request.arenas.get()));

  for (const Tensor& tensor : graph.tensors) {
    if (tensor.input < 0) continue;
    binding->inputs_.resize(std::max(binding->inputs_.size(), index_of(tensor.input) + 1));
    binding->inputs_[index_of(tensor.input)] = tensor.spec;
  }
  for (int output : graph.outputs) binding->outputs_.push_back(graph.tensors[index_of(output)].spec);

  SHEAF_TRY(request.constants->allocate());
  SHEAF_TRY(binding->allocate_arenas(planned.memory, graph, request.arenas.get()));
  binding->describe(graph, planned.memory);
  binding->guard_ = graph.guard;
  if (binding->trains_) binding->note_results(graph);
  if (request.observe) binding->note_values(graph, planned.memory);
  SHEAF_ASSIGN(auto lanes, binding->lower(graph, planned.memory, request));
  binding->executor_ = std::make_unique<Executor>(std::move(lanes), available_cpus());
  if (!binding->executor_->ready()) {
    return Error("the system gives no more threads; " + std::to_string(request.devices->lanes()) + " lanes need one each");
  }
  binding->gathers_scalars_ = graph.gathers_scalars;
  SHEAF_TRY(request.constants->evaluate());
  // What a training program reads besides variables is made now: no weight changes it.
  binding->needed_ = binding->trains_ ? 0 : request.constants->work();
  return binding;
}

Binding::~Binding() {
  executor_.reset();  // its threads first: they use all the rest
}

void Binding::relocate(std::vector<std::vector<Relocation>>& relocations, size_t index, const void* buffer) {
  for (const Relocation& relocation : relocations[index]) {
    *relocation.slot = static_cast<char*>(const_cast<void*>(buffer)) + relocation.offset;
  }
}

Result<void> Binding::check_buffers(std::span<const void* const> inputs, std::span<void* const> outputs) const {
  if (inputs.size() != inputs_.size() || outputs.size() != outputs_.size()) {
    return Error("a run needs " + std::to_string(inputs_.size()) + " input and " + std::to_string(outputs_.size()) +
                 " output buffers; " + std::to_string(inputs.size()) + " and " + std::to_string(outputs.size()) + " are given");
  }
  const auto check = [](const void* buffer, const TensorSpec& spec, const char* what, size_t i) -> Result<void> {
    if (!buffer && spec.bytes > 0) return Error(what + std::to_string(i) + " has no buffer");
    if (spec.bytes == 0 || aligned(buffer, spec)) return {};
    return Error(what + std::to_string(i) + ": its buffer is not aligned to the element size, " +
                 std::to_string(size_of(spec.dtype)) + " bytes");
  };
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (auto ok = check(inputs[i], inputs_[i], "input ", i); !ok) return ok;
  }
  for (size_t i = 0; i < outputs.size(); ++i) {
    if (auto ok = check(outputs[i], outputs_[i], "output ", i); !ok) return ok;
  }
  return {};
}

Result<void> Binding::take_buffers(std::span<const void* const> inputs, std::span<void* const> outputs) {
  bool same = inputs.size() == bound_inputs_.size() && outputs.size() == bound_outputs_.size();
  for (size_t i = 0; same && i < inputs.size(); ++i) same = inputs[i] == bound_inputs_[i];
  for (size_t i = 0; same && i < outputs.size(); ++i) same = outputs[i] == bound_outputs_[i];
  if (!same || inputs.empty()) {
    if (auto ok = check_buffers(inputs, outputs); !ok) return ok;
    for (size_t i = 0; i < inputs.size(); ++i) relocate(input_relocations_, i, bound_inputs_[i] = inputs[i]);
    for (size_t i = 0; i < outputs.size(); ++i) relocate(output_relocations_, i, bound_outputs_[i] = outputs[i]);
  }
  if (!constants_->set() && info_.parameter_bytes > 0) {
    return Error("the model's weights were never set: load them, or initialise them from a seed");
  }
  if (constants_->made() >= needed_) return {};
  const auto constants = constants_->lock();
  return constants_->evaluate();
}

Result<void> Binding::run(std::span<const void* const> inputs, std::span<void* const> outputs, const PrintSink* sink,
                          Trace* trace) {
  if (auto ok = take_buffers(inputs, outputs); !ok) return ok;
  if (gathers_scalars_) warn_of_scalars();
  if (!(trace ? traced_run(sink, *trace) : executor_->run(sink))) return run_error();
  if (trains_) constants_->changed();
  return {};
}

Error Binding::device_error() const {
  const auto text = [&](const DeviceFailure& failure) {
    const auto& operations = executor_->lane(index_of(failure.lane)).operations;
    int replica = -1;
    for (const LaneOperation& operation : operations) replica = std::max(replica, operation.replica);
    std::string where = "device " + devices_->name(failure.lane) + ": ";
    if (replica >= 0 && !devices_->host_only()) where = "replica " + std::to_string(replica) + " on " + where;
    if (failure.instance >= 0) {
      const OperationInfo& operation = info_.operations[index_of(failure.instance)];
      where += operation.layer.empty() ? to_string(operation.op) + ": " : "layer '" + operation.layer + "': ";
    }
    return where + failure.error.message();
  };
  const DeviceFailure& first = *executor_->device_failure();
  Error error = first.error;
  error.diagnostics.front().message = text(first);
  for (const DeviceFailure* other : executor_->device_failures()) {
    if (other != &first) error.note(text(*other));
  }
  return error;
}

Error Binding::run_error() const {
  if (executor_->device_failure()) return device_error();
  const LaneFailure& failure = *executor_->failure();
  const OperationInfo& operation = info_.operations[index_of(failure.instance)];
  std::string where;
  if (failure.replica >= 0 && !devices_->host_only()) {
    where = "replica " + std::to_string(failure.replica) + " on device " +
            devices_->entry_name(operation_entries_[index_of(failure.instance)]) + ": ";
  }
  return Error(where + "layer '" + operation.layer + "': " + (failure.reason.empty() ? kNoMemory : failure.reason));
}

}  // namespace sheaf
