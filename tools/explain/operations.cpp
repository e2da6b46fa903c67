#include "tools/explain/operations.h"

#include "runtime/base/joined.h"
#include "runtime/bind/binding.h"
#include "runtime/ops/traits.h"
#include "runtime/plan/op_list.h"
#include "runtime/session/open_devices.h"
#include "sheaf/model.h"
#include "tools/estimate/planned_program.h"
#include "sheaf/trainer.h"

#include <algorithm>
#include <map>

namespace sheaf {
namespace {

/// The bound plan, or the planned one if a device isn't there, with everything binding reports about itself.
struct BoundPlan {
  std::vector<OperationInfo> operations;
  std::vector<PlannedDevice> planned;
};

Result<BoundPlan> bind_plan(const Plan& plan, const Program& program, const ExplainRequest& request) {
  const std::string list = joined(request.devices, ",");
  BindOptions options = request.bind;
  options.explain = true;
  SHEAF_ASSIGN(auto parsed, parse_devices(list));
  SHEAF_ASSIGN(auto devices, plan_devices(parsed, options.threads, options.shards, request.device_model));
  BoundPlan bound;
  bound.planned = planned_devices(devices);
  if (devices.planned() || devices.world()) {
    SHEAF_ASSIGN(auto planned, plan_program(plan, program, devices, *request.batch, options));
    bound.operations = describe_operations(planned.binding.program, program, devices);
    return bound;
  }
  SHEAF_ASSIGN(auto model, Model::from_plan(plan));
  if (request.program == "train") {
    SHEAF_ASSIGN(auto trainer, Trainer::bind(model, list, *request.batch, options));
    bound.operations = trainer.binding().info().operations;
  } else {
    SHEAF_ASSIGN(auto session, model.bind(list, *request.batch, options));
    bound.operations = session.binding().info().operations;
  }
  return bound;
}

ExplainedOperation explained(const Plan& plan, const Program& program, const Step& step, const OperationInfo& info,
                             bool host_only) {
  ExplainedOperation operation;
  operation.op = info.op == Op::reorder || info.op == Op::check_finite || info.implementation != "copy" ? info.op : Op::copy;
  operation.devices = {info.lane};
  if (info.replica >= 0 && !host_only) operation.replicas = {info.replica};
  operation.implementation = info.op == Op::print ? "print" : info.implementation;
  operation.launch = info.launch;
  operation.uncertain = info.uncertain;
  operation.reason = info.op == Op::print
                         ? "it prints its text, with the sizes filled in, and passes its first input on unchanged"
                         : info.reason;
  const bool of_step = operation.op == step.op && info.inputs.size() == step.roles.size();
  for (size_t i = 0; i < info.inputs.size(); ++i)
    operation.inputs.push_back({of_step ? step.roles[i] : "x" + (i ? std::to_string(i) : ""), info.inputs[i],
                                info.input_specs[i], info.from_weights[i]});
  for (size_t i = 0; i < info.outputs.size(); ++i)
    operation.outputs.push_back({"y" + (i ? std::to_string(i) : ""), info.outputs[i], info.output_specs[i], false});
  operation.cost = cost_of(plan, program, info);
  return operation;
}

bool same_operands(const std::vector<ExplainedOperand>& a, const std::vector<ExplainedOperand>& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](const ExplainedOperand& x, const ExplainedOperand& y) {
    return x.role == y.role && x.value == y.value && x.tensor.dims == y.tensor.dims && x.tensor.dtype == y.tensor.dtype &&
           x.format() == y.format() && x.from_weights == y.from_weights;
  });
}

bool alike(const ExplainedOperation& a, const ExplainedOperation& b) {
  return a.op == b.op && a.implementation == b.implementation && a.reason == b.reason && a.launch == b.launch &&
         same_operands(a.inputs, b.inputs) && same_operands(a.outputs, b.outputs);
}

/// Why a step of the executable program has no operation.
std::string idle_because(const Step& step) {
  if (step.once) return "once, when weights are set: it depends on nothing else";
  if (step.op == Op::kernel && step.inputs.empty()) return "it reads no tensor, so binding has made its result once";
  if (step.op == Op::view) return "a view: the same bytes under another shape";
  const Movement movement = traits(step.op).movement;
  switch (movement.carries) {
    case Carries::nothing: break;
    case Carries::chunks:
      if (movement.route == Route::within) return "each share is a view of the whole that its replica has";
      if (movement.route == Route::among) return "the shares are made in their places of the whole, or there is only one";
      return movement.route == Route::to_replicas
                 ? "each chunk is a view of the whole, which is in memory that the devices share"
                 : "the one chunk there is is the whole";
    case Carries::whole: return "both ends share one memory: the value is used where it is";
    case Carries::summands: return "there is one replica: its value is the sum";
  }
  return "its chunk is empty: there is nothing to compute, or the sum of nothing, zeros made when the plan was bound";
}

}  // namespace

Result<std::vector<PlannedDevice>> add_operations(const Plan& plan, const ExplainRequest& request,
                                                  std::vector<ExplainedLayer>& layers) {
  const Program& program = request.program == "train" ? plan.train : plan.infer;
  SHEAF_ASSIGN(auto bound, bind_plan(plan, program, request));
  const bool host_only = request.devices.size() == 1 && request.devices[0] == "cpu";
  std::map<const Step*, std::vector<ExplainedOperation>> by_step;
  for (const OperationInfo& info : bound.operations) {
    if (info.step < 0) continue;  // copies to the caller's buffers and to variables belong to no step
    const std::vector<int> own = {info.step};
    for (int s : info.steps.empty() ? own : info.steps) {
      const Step& step = program.steps[static_cast<size_t>(s)];
      std::vector<ExplainedOperation>& operations = by_step[&step];
      ExplainedOperation operation = explained(plan, program, step, info, host_only);
      const auto known = std::find_if(operations.begin(), operations.end(),
                                      [&](const ExplainedOperation& other) { return alike(other, operation); });
      if (known == operations.end()) {
        operations.push_back(std::move(operation));
      } else {
        known->devices.insert(known->devices.end(), operation.devices.begin(), operation.devices.end());
        known->replicas.insert(known->replicas.end(), operation.replicas.begin(), operation.replicas.end());
      }
    }
  }
  for (ExplainedLayer& layer : layers) {
    for (ExplainedStep& step : layer.steps) {
      if (const auto found = by_step.find(step.step); found != by_step.end()) step.operations = found->second;
      if (step.operations.empty()) step.idle = idle_because(*step.step);
    }
  }
  return std::move(bound.planned);
}

}  // namespace sheaf
