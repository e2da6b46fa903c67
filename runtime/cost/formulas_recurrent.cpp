// LSTM and GRU: each layer and direction has matrix products with the input and with the state, for all gates.
#include "runtime/cost/formulas.h"

#include <string>

namespace sheaf {

double recurrent_flops(const SizedStep& s) {
  const TensorSpec* x = s.input("x");
  if (!x || x->dims.empty()) return 0;
  double rows = 1;  // time steps × batch
  for (size_t i = 0; i + 1 < x->dims.size(); ++i) rows *= static_cast<double>(x->dims[i]);
  const bool backward = s.step.op.ends_with("_backward");
  double flops = 0;
  for (size_t i = 0; i < s.step.roles.size() && i < s.inputs.size(); ++i) {
    const std::string& role = s.step.roles[i];
    if (role.rfind("weight_", 0) != 0 || s.inputs[i].dims.size() != 2) continue;
    // Backward there are two products of each weight: one for the gradient of its input, one for its own.
    flops += 2 * rows * SizedStep::elements(&s.inputs[i]) * (backward ? 2 : 1);
    if (role.rfind("weight_hh", 0) != 0) continue;
    // Pointwise, for each gate: the sum of the products and biases (3) and its function (3); backward its derivative
    // (3) and the sums into the gates' gradients (3).
    flops += 6 * rows * static_cast<double>(s.inputs[i].dims[0]);
  }
  return flops;
}

}  // namespace sheaf
