#include "runtime/plan/step_check.h"

#include <algorithm>
#include <map>
#include <numeric>

namespace sheaf {

namespace {

/// A shape's number of elements as a constant times a sorted list of factors that depend on symbols, each
/// divided by what divides it; two shapes with the same have equally many elements whatever the batch.
std::pair<int64_t, std::vector<std::string>> element_factors(const Shape& shape) {
  int64_t constant = 1;
  std::vector<std::string> factors;
  for (const Extent& extent : shape) {
    int64_t divisor = extent.constant;
    for (const auto& term : extent.terms) divisor = std::gcd(divisor, term.second);
    if (divisor == 0) return {0, {}};
    // Saturates: products that large are refused with the value's bytes.
    if (__builtin_mul_overflow(constant, divisor, &constant)) constant = kLargestBytes;
    if (!extent.is_static())
      if (const Result<Extent> rest = extent.divided_by(divisor < 0 ? -divisor : divisor); rest)
        factors.push_back(to_string(*rest));
  }
  std::sort(factors.begin(), factors.end());
  return {constant, std::move(factors)};
}

void check_view(StepCheck& check) {
  check.attributes({});
  if (!check.roles({"x"}) || !check.outputs(1)) return;
  const Value& x = check.input(0);
  const Value& y = check.output(0);
  if (x.dtype != y.dtype) check.fail("a view doesn't change the dtype");
  if (element_factors(x.shape) != element_factors(y.shape))
    check.fail("'" + x.name + "' of shape " + to_string(x.shape) + " can't be viewed as " + to_string(y.shape));
}

void check_print(StepCheck& check) {
  check.attributes({"text"});
  check.text("text");
  if (check.step().inputs.empty()) return check.fail("'print' needs an input");
  if (!check.outputs(1)) return;
  if (check.input(0).dtype != check.output(0).dtype) check.fail("'print' doesn't change the dtype");
  check.shape(check.output(0), check.input(0).shape);
}

void check_kernel(StepCheck& check) {
  check.attributes({"extents", "work", "grain"}, {"in_place", "status"});
  const auto kernel = check.scope().kernels.find(check.step().kernel);
  if (kernel == check.scope().kernels.end()) return check.fail("no kernel '" + check.step().kernel.substr(0, 80) + "' in the plan");
  check.integer("grain", 1, kLargestDim);
  if (check.failed()) return;
  const Json& extents = check.step().attributes["extents"];
  if (!extents.is_array() || extents.size() != static_cast<size_t>(kernel->second->extents))
    return check.fail("'extents' must be a list of " + std::to_string(kernel->second->extents) + " sizes");
  for (size_t i = 0; i < extents.size() && !check.failed(); ++i)
    check.extent(extents[i], "extents[" + std::to_string(i) + "]");
  check.extent(check.step().attributes["work"], "work");
}

}  // namespace

void check_operation(StepCheck& check) {
  static const std::map<std::string, void (*)(StepCheck&), std::less<>> rules = {
      {"adaptive_avg_pool", check_adaptive_avg_pool},
      {"avg_pool", check_avg_pool},
      {"conv", check_conv},
      {"conv_transpose", check_conv_transpose},
      {"gru", check_gru},
      {"kernel", check_kernel},
      {"linear", check_linear},
      {"lstm", check_lstm},
      {"matmul", check_matmul},
      {"max_pool", check_max_pool},
      {"print", check_print},
      {"view", check_view},
  };
  const auto rule = rules.find(check.step().op);
  if (rule == rules.end()) return check.fail("unknown operation '" + check.step().op.substr(0, 80) + "'");
  if (!check.step().kernel.empty() && check.step().op != "kernel")
    check.fail("only a step of op 'kernel' names a kernel");
  rule->second(check);
}

}  // namespace sheaf
