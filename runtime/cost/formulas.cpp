#include "runtime/cost/formulas.h"

#include <algorithm>
#include <functional>
#include <map>
#include <string>

namespace sheaf {
namespace {

double product(std::span<const int64_t> dims) {
  double result = 1;
  for (int64_t dim : dims) result *= static_cast<double>(dim);
  return result;
}

double dim(const TensorSpec* tensor, size_t index) {
  return tensor && index < tensor->dims.size() ? static_cast<double>(tensor->dims[index]) : 0;
}

double last_dim(const TensorSpec* tensor) { return tensor && !tensor->dims.empty() ? static_cast<double>(tensor->dims.back()) : 0; }

/// Elements of a weight [O, I, k…] for each entry of its first dimension: products in one sum.
double row(const TensorSpec* weight) { return weight && weight->dims.size() > 1 ? product(std::span(weight->dims).subspan(1)) : 0; }

/// Scalar functions of an activation, for each element.
double activation(const SizedStep& s) {
  if (!s.step.attributes.contains("activation")) return 0;
  const std::string kind = s.step.attributes["activation"].value("kind", std::string());
  if (kind == "relu" || kind == "tanh") return 1;
  if (kind == "leaky_relu" || kind == "hardtanh") return 2;
  if (kind == "sigmoid" || kind == "elu") return 3;
  return kind == "gelu_tanh" ? 8 : 4;  // silu x·σ(x); gelu x/2·(1 + erf(x/√2))
}

/// Bias, residual and activation at the end of an operation.
double epilogue(const SizedStep& s) {
  const double each = (s.input("bias") ? 1 : 0) + (s.input("residual") ? 1 : 0) + activation(s);
  return each * s.output_elements(0);
}

double conv(const SizedStep& s) { return 2 * s.output_elements(0) * row(s.input("weight")) + epilogue(s); }

double conv_backward_data(const SizedStep& s) { return 2 * s.elements(s.input("dy")) * row(s.input("weight")); }

double bias_gradient(const SizedStep& s) { return s.outputs.size() > 1 ? s.elements(s.input("dy")) : 0; }

double conv_backward_weight(const SizedStep& s) {
  return 2 * s.elements(s.input("dy")) * (s.outputs.empty() ? 0 : row(&s.outputs[0])) + bias_gradient(s);
}

double conv_transpose(const SizedStep& s) { return 2 * s.elements(s.input("x")) * row(s.input("weight")) + epilogue(s); }

double linear(const SizedStep& s) { return 2 * s.output_elements(0) * last_dim(s.input("weight")) + epilogue(s); }

double linear_backward_data(const SizedStep& s) { return 2 * s.output_elements(0) * dim(s.input("weight"), 0); }

double linear_backward_weight(const SizedStep& s) {
  return 2 * s.elements(s.input("dy")) * last_dim(s.input("x")) + bias_gradient(s);
}

double matmul(const SizedStep& s) {
  if (s.inputs.empty() || s.inputs[0].dims.empty()) return 0;
  const auto& a = s.inputs[0].dims;
  const bool transposed = s.step.attributes.value("transpose_a", false) && a.size() > 1;
  return 2 * s.output_elements(0) * static_cast<double>(transposed ? a[a.size() - 2] : a.back());
}

/// Elements of a pool's window.
double window(const SizedStep& s) {
  if (!s.step.attributes.contains("kernel_size")) return 1;
  const Json& size = s.step.attributes["kernel_size"];
  if (!size.is_array()) return size.is_number() ? size.get<double>() * size.get<double>() : 1;
  double result = 1;
  for (const Json& extent : size) result *= extent.is_number() ? extent.get<double>() : 1;
  return result;
}

double pool(const SizedStep& s) { return window(s) * s.output_elements(0); }
double first_input(const SizedStep& s) { return s.inputs.empty() ? 0 : s.elements(&s.inputs[0]); }
double first_output(const SizedStep& s) { return s.output_elements(0); }

/// Mean (1), variance (3), x̂·γ + β (2 once the channel's factors are known).
double batch_norm_train(const SizedStep& s) { return (6 + activation(s)) * first_input(s); }
/// x̂ (2), Σdy (1), Σdy·x̂ (2), dx = a·dy + b·x̂ + c (4); the mask of a relu (1).
double batch_norm_backward(const SizedStep& s) { return (9 + (s.step.attributes.contains("activation") ? 1 : 0)) * first_input(s); }

/// One addition for each input beyond the first, at every element.
double reduce(const SizedStep& s) {
  return s.inputs.empty() ? 0 : static_cast<double>(s.inputs.size() - 1) * s.output_elements(0);
}

double kernel_flops(const Plan& plan, const SizedStep& s) {
  const auto kernel = std::find_if(plan.kernels.begin(), plan.kernels.end(),
                                   [&](const Kernel& known) { return known.name == s.step.kernel; });
  double flops = 0;
  if (kernel == plan.kernels.end()) return flops;
  for (const KernelArithmetic& term : kernel->arithmetic) {
    const auto operand = static_cast<size_t>(term.operand);
    if (operand < s.inputs.size()) {
      flops += term.each * s.elements(&s.inputs[operand]);
    } else {
      flops += term.each * s.output_elements(operand - s.inputs.size());
    }
  }
  return flops;
}

const std::map<std::string, std::function<double(const SizedStep&)>, std::less<>>& formulas() {
  static const std::map<std::string, std::function<double(const SizedStep&)>, std::less<>> kFormulas = {
      {"conv", conv},
      {"conv_backward_data", conv_backward_data},
      {"conv_backward_weight", conv_backward_weight},
      {"conv_transpose", conv_transpose},
      {"linear", linear},
      {"linear_backward_data", linear_backward_data},
      {"linear_backward_weight", linear_backward_weight},
      {"matmul", matmul},
      {"max_pool", pool},
      {"max_pool_train", pool},
      {"max_pool_backward", [](const SizedStep& s) { return s.elements(s.input("dy")); }},
      {"avg_pool", pool},
      {"avg_pool_backward", [](const SizedStep& s) { return window(s) * s.elements(s.input("dy")); }},
      {"adaptive_avg_pool", first_input},
      {"adaptive_avg_pool_backward", first_output},
      {"batch_norm_train", batch_norm_train},
      {"batch_norm_backward", batch_norm_backward},
      {"reduce", reduce},
      {"check_finite", first_input},
      {"lstm", recurrent_flops},
      {"lstm_train", recurrent_flops},
      {"lstm_backward", recurrent_flops},
      {"gru", recurrent_flops},
      {"gru_train", recurrent_flops},
      {"gru_backward", recurrent_flops},
  };
  return kFormulas;
}

}  // namespace

const TensorSpec* SizedStep::input(std::string_view role) const {
  for (size_t i = 0; i < step.roles.size() && i < inputs.size(); ++i) {
    if (step.roles[i] == role) return &inputs[i];
  }
  return nullptr;
}

double SizedStep::elements(const TensorSpec* tensor) { return tensor ? product(tensor->dims) : 0; }

double SizedStep::output_elements(size_t index) const { return index < outputs.size() ? product(outputs[index].dims) : 0; }

double operation_flops(const Plan& plan, const SizedStep& step) {
  if (step.step.op == "kernel") return kernel_flops(plan, step);
  const auto found = formulas().find(step.step.op);
  return found == formulas().end() ? 0 : found->second(step);
}

}  // namespace sheaf
