// Training of a ConvolutionPlan's model, for tests of where its variables live and in which format.
#pragma once

#include "convolution_plan.h"
#include "runtime/plan/op_list.h"
#include "training_run.h"

#include "runtime/bind/binding.h"
#include "runtime/steps/kernel_step.h"
#include "runtime/cpu/dnnl/dnnl_format.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace sheaf {

/// The host. Kernels of a plan are the tests' own functions, over elements.
class KernelDevice : public TrainingDevice {
 public:
  Result<std::shared_ptr<const Kernels>> load_kernels(const Plan&) override { return std::make_shared<const Kernels>(); }
  Result<Prepared> prepare(const PrepareRequest& request) override {
    if (!fail_layer.empty() && request.step.layer == fail_layer) return Error("not today");
    if (request.step.op != Op::kernel) return TrainingDevice::prepare(request);
    auto kernel = prepare_kernel_step(request, same_layout_of);
    if (!kernel) return kernel.error();
    Step named = request.step;
    named.op = Op::layer;
    named.type = request.step.kernel;
    auto made = TrainingDevice::prepare(
        {named, request.plan, request.inputs, request.outputs, request.threads, false, request.constant});
    if (made) kernel->prepared.executable = std::move(made->executable);
    return made ? std::move(kernel->prepared) : std::move(made);
  }
  std::string fail_layer;  ///< whose operations it refuses to prepare
};

/// Operations of kind `op` whose first input, or output, is the tensor `name`.
inline int count(const Trainer& trainer, Op op, const std::string& name) {
  const auto first = [&](const std::vector<std::string>& operands) { return !operands.empty() && operands[0] == name; };
  const auto& all = trainer.binding().info().operations;
  return static_cast<int>(std::count_if(all.begin(), all.end(), [&](const OperationInfo& operation) {
    return (op == Op::copy ? operation.implementation == "copy" : operation.op == op) &&
           (first(operation.inputs) || first(operation.outputs));
  }));
}

/// What so many steps gave.
struct Trained {
  std::vector<float> losses, w, m;
  bool operator==(const Trained&) const = default;
};

inline Trained train(const Model& model, Trainer& trainer, int64_t rows, int steps = 3) {
  const ConvolutionBatch batch(rows);
  Trained result;
  for (int i = 0; i < steps; ++i) {
    auto loss = trainer.step(batch.buffers());
    EXPECT_TRUE(loss) << to_string(loss.error());
    result.losses.push_back(loss ? *loss : -1);
  }
  result.w = parameter_values(model, 0);
  result.m = state_values(model, trainer, 0);
  return result;
}

}  // namespace sheaf
