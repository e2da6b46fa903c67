#include "runtime/cost/cost.h"

#include "runtime/cost/formulas.h"

#include <string_view>

namespace sheaf {

Cost copy_cost(const TensorSpec& from, const TensorSpec& to) {
  return {0, static_cast<double>(from.bytes), static_cast<double>(to.bytes)};
}

Cost operation_cost(const Plan& plan, const Step& step, std::span<const TensorSpec> inputs,
                    std::span<const TensorSpec> outputs) {
  if (step.op == "view" || step.op == "print") return {};
  Cost cost;
  for (const TensorSpec& input : inputs) cost.read_bytes += static_cast<double>(input.bytes);
  for (const TensorSpec& output : outputs) cost.written_bytes += static_cast<double>(output.bytes);
  cost.flops = operation_flops(plan, {step, inputs, outputs});
  return cost;
}

DType multiplied(const std::string& op, std::span<const TensorSpec> inputs) {
  const bool products = op == "matmul" || op.starts_with("linear") || op.starts_with("conv");
  for (const TensorSpec& input : inputs) {
    if (products && (input.dtype == DType::bfloat16 || input.dtype == DType::float16)) return input.dtype;
  }
  return DType::float32;
}

}  // namespace sheaf
