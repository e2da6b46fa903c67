#include "runtime/plan/kernel_signature.h"

#include <utility>

namespace sheaf {
namespace {

std::string list_of(const Program& program, const std::vector<int>& operands) {
  std::string text;
  for (const int operand : operands) {
    const Value& value = program.values[static_cast<size_t>(operand)];
    if (!text.empty()) text += ", ";
    text += name_of(value.dtype);
    const char* separator = "[";
    for (const Extent& size : value.shape) text += std::exchange(separator, ", ") + to_string(size);
    text += value.shape.empty() ? "[]" : "]";
  }
  return text;
}

}  // namespace

std::string kernel_signature(const Program& program, const Step& step) {
  return list_of(program, step.inputs) + " -> " + list_of(program, step.outputs) + " " +
         step.attributes.dump(-1, ' ', false, Json::error_handler_t::replace);
}

KernelSignatures kernel_signatures(const Plan& plan) {
  KernelSignatures found;
  for (const Program* program : {&plan.infer, &plan.train, &plan.accumulate, &plan.update, &plan.forward, &plan.backward})
    for (const Step& step : program->steps)
      if (!step.kernel.empty()) found[step.kernel].insert(kernel_signature(*program, step));
  return found;
}

}  // namespace sheaf
