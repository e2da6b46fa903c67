#include "runtime/cost/cost.h"

#include "runtime/ops/traits.h"
#include "runtime/plan/kernel_lookup.h"
#include "runtime/plan/op_list.h"

namespace sheaf {
namespace {

double kernel_flops(const Plan& plan, const Step& step, std::span<const TensorSpec> inputs,
                    std::span<const TensorSpec> outputs) {
  const Kernel* kernel = find_kernel(plan, step.kernel);
  double flops = 0;
  if (!kernel) return flops;
  for (const KernelArithmetic& term : kernel->arithmetic) {
    const auto operand = static_cast<size_t>(term.operand);
    const bool input = operand < inputs.size();
    if (input) flops += term.each * product(inputs[operand].dims);
    if (!input && operand - inputs.size() < outputs.size()) flops += term.each * product(outputs[operand - inputs.size()].dims);
  }
  return flops;
}

}  // namespace

Cost operation_cost(const Plan& plan, const Step& step, std::span<const TensorSpec> inputs,
                    std::span<const TensorSpec> outputs) {
  const Op op = step.op;
  if (op == Op::view || op == Op::print) return {};
  Cost cost;
  for (const TensorSpec& input : inputs) cost.read_bytes += static_cast<double>(input.bytes);
  for (const TensorSpec& output : outputs) cost.written_bytes += static_cast<double>(output.bytes);
  if (op == Op::kernel) cost.flops = kernel_flops(plan, step, inputs, outputs);
  if (!traits(op).flops) return cost;
  SizedOp sized{op, step.attributes, step.roles, {}, {}};
  for (const TensorSpec& input : inputs) sized.inputs.push_back(input.dims);
  for (const TensorSpec& output : outputs) sized.outputs.push_back(output.dims);
  cost.flops = traits(op).flops(sized);
  return cost;
}

DType multiplied(Op op, std::span<const TensorSpec> inputs) {
  for (const TensorSpec& input : inputs) {
    if (traits(op).adds == Adds::products && (input.dtype == DType::bfloat16 || input.dtype == DType::float16))
      return input.dtype;
  }
  return DType::float32;
}

int64_t channels_of(Op op, std::span<const TensorSpec> inputs, std::span<const TensorSpec> outputs) {
  const bool of_weight = op == Op::conv_backward_weight;
  if (!of_weight && op != Op::conv && op != Op::conv_backward_data && op != Op::conv_transpose) return 0;
  const TensorSpec* weight = of_weight ? (outputs.empty() ? nullptr : &outputs[0]) : (inputs.size() < 2 ? nullptr : &inputs[1]);
  return weight && weight->dims.size() >= 2 ? std::min(weight->dims[0], weight->dims[1]) : 0;
}

}  // namespace sheaf
