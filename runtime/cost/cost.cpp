#include "runtime/cost/cost.h"

#include "runtime/ops/traits.h"
#include "runtime/plan/kernel_lookup.h"
#include "runtime/plan/op_list.h"

#include <algorithm>

namespace sheaf {
namespace {

void add_kernel(const Kernel& kernel, std::span<const TensorSpec> inputs, std::span<const TensorSpec> outputs, Cost& cost) {
  for (const KernelArithmetic& term : kernel.arithmetic) {
    const auto operand = static_cast<size_t>(term.operand);
    if (operand >= inputs.size() + outputs.size()) continue;
    const TensorSpec& of = operand < inputs.size() ? inputs[operand] : outputs[operand - inputs.size()];
    cost.flops += term.each * product(of.dims);
    cost.instructions += term.instructions * product(of.dims);
  }
}

}  // namespace

Cost operation_cost(const Plan& plan, const Step& step, std::span<const TensorSpec> inputs,
                    std::span<const TensorSpec> outputs) {
  const Op op = step.op;
  if (op == Op::view || op == Op::print) return {};
  Cost cost;
  for (const TensorSpec& input : inputs) cost.read_bytes += static_cast<double>(input.bytes);
  for (const TensorSpec& output : outputs) cost.written_bytes += static_cast<double>(output.bytes);
  const Kernel* kernel = op == Op::kernel ? find_kernel(plan, step.kernel) : nullptr;
  if (kernel) add_kernel(*kernel, inputs, outputs, cost);
  // Of its table a lookup reads what it writes.
  const bool lookup = kernel && (step.attributes.contains("status") || step.attributes.contains("lookup_dim"));
  if (lookup && inputs.size() > 1 && !outputs.empty())
    cost.read_bytes -= static_cast<double>(inputs[1].bytes - std::min(inputs[1].bytes, outputs[0].bytes));
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
  if (inputs.size() < 2 || outputs.empty()) return 0;
  const std::vector<int64_t>&first = inputs[0].dims, &weight = (op == Op::conv_backward_weight ? outputs[0] : inputs[1]).dims;
  if (first.size() < 2 || weight.size() < 2 || weight[1] == 0) return 0;
  const int64_t groups = std::max<int64_t>(1, first[1] / weight[1]);  // if `first` is x
  switch (op) {  // weights [out, in / groups, …]; of a transposed one [in, out / groups, …]
    case Op::conv: return weight[0] / groups;
    case Op::conv_backward_weight: return std::min(weight[1], weight[0] / groups);
    case Op::conv_backward_data:
    case Op::conv_transpose: return weight[1];
    default: return 0;
  }
}

}  // namespace sheaf
