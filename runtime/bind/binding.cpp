#include "runtime/bind/binding.h"

#include "runtime/bind/non_finite.h"
#include "runtime/bind/planned_binding.h"
#include "runtime/cpu/thread_pool.h"

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
  std::fputs("warning: Was asked to gather along dimension 0, but all input tensors were scalars; will instead unsqueeze "
             "and return a vector.\n", stderr);
}

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
  const BindContext context{request.plan,       request.program, *request.devices,     request.kernels,
                            *request.constants, request.batch,   request.fast_numerics,
                            request.explain};
  for (int lane = 0; lane < request.devices->lanes(); ++lane) {
    request.constants->keep(request.devices->device(lane), request.devices);
  }
  auto planned = plan_binding(context);
  if (!planned) return planned.error();
  Graph& graph = planned->graph;
  if (auto ok = check_fits(graph, planned->memory, *request.devices, *request.constants); !ok) return ok.error();

  for (const Tensor& tensor : graph.tensors) {
    if (tensor.input < 0) continue;
    binding->inputs_.resize(std::max(binding->inputs_.size(), index_of(tensor.input) + 1));
    binding->inputs_[index_of(tensor.input)] = tensor.spec;
  }
  for (int output : graph.outputs) binding->outputs_.push_back(graph.tensors[index_of(output)].spec);

  if (auto ok = request.constants->allocate(); !ok) return ok.error();
  if (auto ok = binding->allocate_arenas(planned->memory, graph, request.arenas.get()); !ok) return ok.error();
  binding->describe(graph, planned->memory);
  binding->guard_ = graph.guard;
  if (binding->trains_) binding->note_results(graph);
  if (request.observe) binding->note_values(graph, planned->memory);
  auto lanes = binding->lower(graph, planned->memory);
  if (!lanes) return lanes.error();
  binding->executor_ = std::make_unique<Executor>(std::move(*lanes), available_cpus());
  if (!binding->executor_->ready()) {
    return Error("the system gives no more threads; " + std::to_string(request.devices->lanes()) + " lanes need one each");
  }
  binding->gathers_scalars_ = graph.gathers_scalars;
  binding->cuts_nan_off_ = std::any_of(request.program.steps.begin(), request.program.steps.end(), cuts_nan_off);
  if (auto ready = request.constants->evaluate(); !ready) return ready.error();
  return binding;
}

Binding::~Binding() {
  executor_.reset();  // its threads first: they use all the rest
}

Result<std::vector<LaneProgram>> Binding::lower(Graph& graph, const MemoryPlan& memory) {
  input_relocations_.resize(inputs_.size());
  output_relocations_.resize(outputs_.size());
  bound_inputs_.assign(inputs_.size(), nullptr);
  bound_outputs_.assign(outputs_.size(), nullptr);
  std::vector<LaneProgram> lanes(graph.lane_order.size());
  std::vector<Event*> instance_events(graph.instances.size(), nullptr);
  for (size_t lane = 0; lane < lanes.size(); ++lane) {
    LaneProgram& program = lanes[lane];
    Device& device = devices_->device(static_cast<int>(lane));
    program.threads = devices_->threads(static_cast<int>(lane));
    program.asynchronous = device.info().asynchronous;
    auto queue = device.open_queue(program.threads);
    if (!queue) return queue.error();
    program.queue = std::move(*queue);
    size_t slots = 0;
    for (int i : graph.lane_order[lane]) {
      const Instance& instance = graph.instances[index_of(i)];
      slots += instance.inputs.size() + instance.outputs.size();
      if (!program.asynchronous || !instance.signals) continue;
      auto event = device.make_event();
      if (!event) return event.error();
      instance_events[index_of(i)] = event->get();
      events_.push_back(std::move(*event));
    }
    program.slots.assign(slots, nullptr);
  }
  texts_.reserve(graph.instances.size());  // operations point into it

  for (size_t lane = 0; lane < lanes.size(); ++lane) {
    LaneProgram& program = lanes[lane];
    size_t next_slot = 0;
    const auto address = [&](int tensor, size_t offset) {
      const Root root = graph.root(tensor);
      const Tensor& home = graph.tensors[index_of(root.tensor)];
      void** slot = &program.slots[next_slot++];
      offset += root.offset;
      if (home.input >= 0) {
        input_relocations_[index_of(home.input)].push_back({slot, offset});
      } else if (home.output >= 0) {
        output_relocations_[index_of(home.output)].push_back({slot, offset});
      } else if (home.node >= 0) {
        *slot = constants_->data({home.node, offset});
      } else {
        *slot = static_cast<char*>(arenas_[index_of(home.lane)].get()) + memory.root_offsets[index_of(root.tensor)] + offset;
      }
    };
    for (int i : graph.lane_order[lane]) {
      Instance& instance = graph.instances[index_of(i)];
      LaneOperation operation;
      operation.first_slot = static_cast<uint32_t>(next_slot);
      operation.instance = i;
      operation.replica = instance.replica;
      operation.can_fail = instance.can_fail;
      operation.commits = instance.commits;
      operation.decides = instance.can_fail && trains_;
      operation.copy_shape = instance.copy_shape;
      operation.event = instance_events[index_of(i)];
      operation.signal = instance.signals ? instance.position + 1 : 0;
      operation.first_wait = static_cast<uint32_t>(program.waits.size());
      for (const WaitFor& wait : instance.waits) {
        program.waits.push_back({wait.lane, graph.instances[index_of(wait.instance)].position + 1,
                                 instance_events[index_of(wait.instance)]});
      }
      operation.end_wait = static_cast<uint32_t>(program.waits.size());
      if (instance.kind == Instance::copy) {
        operation.kind = LaneOperation::copy;
        address(instance.outputs[0], instance.target_offset);
        address(instance.inputs[0], instance.source_offset);
      } else if (instance.kind == Instance::print) {
        operation.kind = LaneOperation::print;
        texts_.push_back(std::move(instance.text));
        operation.text = &texts_.back();
      } else {
        for (int tensor : instance.inputs) address(tensor, 0);
        for (int tensor : instance.outputs) address(tensor, 0);
        operation.executable = instance.executable.get();
        executables_.push_back(std::move(instance.executable));
        operation.scratch = static_cast<char*>(arenas_[lane].get()) + memory.scratch_offsets[index_of(i)];
      }
      program.operations.push_back(operation);
    }
  }
  return lanes;
}

void Binding::relocate(std::vector<std::vector<Relocation>>& relocations, size_t index, const void* buffer) {
  for (const Relocation& relocation : relocations[index]) {
    *relocation.slot = static_cast<char*>(const_cast<void*>(buffer)) + relocation.offset;
  }
}

Result<void> Binding::check_buffers(std::span<const void* const> inputs, std::span<void* const> outputs) const {
  if (inputs.size() != inputs_.size() || outputs.size() != outputs_.size()) {
    return Error("a run needs " + std::to_string(inputs_.size()) + " input and " + std::to_string(outputs_.size()) +
                 " output buffers; " + std::to_string(inputs.size()) + " and " + std::to_string(outputs.size()) +
                 " are given");
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
  // What a training program reads besides variables was made when it was bound: no weight changes it.
  if (trains_ ? constants_->set() : constants_->ready()) return {};
  if (!constants_->set() && info_.parameter_bytes > 0) {
    return Error("the model's weights were never set: load them, or initialise them from a seed");
  }
  return trains_ ? Result<void>() : constants_->evaluate();
}

Result<void> Binding::run(std::span<const void* const> inputs, std::span<void* const> outputs, const PrintSink* sink,
                          Trace* trace) {
  if (auto ok = take_buffers(inputs, outputs); !ok) return ok;
  if (gathers_scalars_) warn_of_scalars();
  std::optional<NonFiniteRun> careful;
  if (needs_care()) careful.emplace();
  if (!(trace ? traced_run(sink, *trace) : executor_->run(sink))) return run_error();
  if (trains_) constants_->changed();
  return {};
}

bool Binding::needs_care() const {
  if (!cuts_nan_off_) return false;
  bool finite = constants_->finite();
  for (size_t i = 0; finite && i < inputs_.size(); ++i) finite = all_finite(inputs_[i], bound_inputs_[i]);
  return !finite;
}

Error Binding::run_error() const {
  if (const Error* error = executor_->device_error()) return *error;
  const LaneFailure& failure = *executor_->failure();
  const OperationInfo& operation = info_.operations[index_of(failure.instance)];
  std::string where;
  if (failure.replica >= 0 && !devices_->host_only()) {
    where = "replica " + std::to_string(failure.replica) + " on device " +
            devices_->entry_name(operation_entries_[index_of(failure.instance)]) + ": ";
  }
  return Error(where + "layer '" + operation.layer + "': " + failure.reason);
}

}  // namespace sheaf
