#include "runtime/steps/count_step.h"

namespace sheaf {

void require_counted(const StepOperands& operation) {
  const PrepareRequest& request = operation.request;
  require(!request.inputs.empty() && request.outputs.size() == 1, "expected inputs and one output");
  for (size_t i = 0; i < request.inputs.size(); ++i) {
    const DType dtype = request.inputs[i].dtype;
    require(dtype == DType::float32 || dtype == DType::bfloat16 || dtype == DType::float16,
            "input " + std::to_string(i) + " is not of floating point, but of " + std::string(name_of(dtype)));
  }
  require(operation.wide_output().dims.empty(), "the count is one number");
}

}  // namespace sheaf
