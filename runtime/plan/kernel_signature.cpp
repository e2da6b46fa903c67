#include "runtime/plan/kernel_signature.h"

#include "runtime/plan/narrow_read.h"

#include <utility>

namespace sheaf {
namespace {

/// `narrow`: of an operand that has another type than its value; null: there is none.
std::string list_of(const Program& program, const std::vector<int>& operands, const NarrowRead* narrow = nullptr) {
  std::string text;
  for (size_t i = 0; i < operands.size(); ++i) {
    const Value& value = program.values[static_cast<size_t>(operands[i])];
    if (!text.empty()) text += ", ";
    text += name_of(narrow && narrow->input == i ? narrow->dtype : value.dtype);
    const char* separator = "[";
    for (const Extent& size : value.shape) text += std::exchange(separator, ", ") + to_string(size);
    text += value.shape.empty() ? "[]" : "]";
  }
  return text;
}

std::string signature_of(const Program& program, const Step& step, const NarrowRead* narrow) {
  return list_of(program, step.inputs, narrow) + " -> " + list_of(program, step.outputs) + " " +
         step.attributes.dump(-1, ' ', false, Json::error_handler_t::replace);
}

}  // namespace

std::string kernel_signature(const Program& program, const Step& step) { return signature_of(program, step, nullptr); }

KernelSignatures kernel_signatures(const Plan& plan) {
  KernelSignatures found;
  for (const Program* program : {&plan.infer, &plan.train, &plan.accumulate, &plan.update, &plan.forward, &plan.backward})
    for (const Step& step : program->steps) {
      if (step.kernel.empty()) continue;
      found[step.kernel].insert(kernel_signature(*program, step));
      if (const auto narrow = narrow_read(step)) found[narrow->kernel].insert(signature_of(*program, step, &*narrow));
    }
  return found;
}

}  // namespace sheaf
