#include "tools/verify/operation_tolerance.h"

#include "runtime/base/index.h"
#include "runtime/ops/traits.h"
#include "runtime/plan/kernel_lookup.h"
#include "tools/verify/slices.h"
#include "tools/verify/tolerance.h"

#include <algorithm>
#include <cmath>

namespace sheaf {
namespace {

/// The error of a product of TF32 numbers, which fast numerics may use.
constexpr double kFastProduct = 0x1p-11;

/// The largest factor by which an activation widens a difference of its operands: its function's steepest slope, such as GELU's
/// 1.13, or as its arguments say.
double steepest(const Step& step) {
  const auto activation = step.attributes.find("activation");
  if (activation == step.attributes.end()) return 1;
  const double slope = std::abs(activation->value("negative_slope", 0.0)), alpha = std::abs(activation->value("alpha", 0.0));
  return std::max({1.13, slope, alpha});
}

class Terms {
 public:
  Terms(const StepRun& run, const Step& step) : run_(run), step_(step) {}

  /// How many numbers contribute to an element of each output.
  Result<std::vector<double>> by_output() const {
    double most = 1;
    for (const int input : step_.inputs) {
      SHEAF_ASSIGN(auto count, elements(input));
      most = std::max(most, count);
    }
    SHEAF_ASSIGN(auto all, operations());
    std::vector<double> terms;
    for (const int output : step_.outputs) {
      SHEAF_ASSIGN(auto count, elements(output));
      terms.push_back(std::max({1.0, most / std::max(1.0, count), all / 2 / std::max(1.0, count)}));
    }
    return terms;
  }

 private:
  Result<double> elements(int value) const {
    SHEAF_ASSIGN(auto dims, run_.sizes.dims(run_.program.values[index_of(value)], run_.replica));
    double count = 1;
    for (const int64_t size : dims) count *= static_cast<double>(size);
    return count;
  }

  /// For a generated kernel: additions and multiplications.
  Result<double> operations() const {
    double total = 0;
    const Kernel* kernel = find_kernel(run_.plan, step_.kernel);
    if (!kernel) return total;
    for (const KernelArithmetic& part : kernel->arithmetic) {
      const size_t at = index_of(part.operand), inputs = step_.inputs.size();
      SHEAF_ASSIGN(auto count, elements(at < inputs ? step_.inputs[at] : step_.outputs[at - inputs]));
      total += part.each * count;
    }
    return total;
  }

  const StepRun& run_;
  const Step& step_;
};

/// The same sums over magnitudes, and over ones.
Result<std::vector<double>> of_sums(BoundStep& bound, const StepRun& run, double widened, bool fast) {
  std::vector<std::vector<HostTensor>> results;
  for (HostTensor (*const change)(const HostTensor&) : {magnitudes_of, ones_like}) {
    std::vector<HostTensor> changed;
    for (const HostTensor* input : run.inputs) changed.push_back(change(*input));
    std::vector<const HostTensor*> inputs;
    for (const HostTensor& tensor : changed) inputs.push_back(&tensor);
    SHEAF_ASSIGN(auto made, bound.run(inputs));
    results.push_back(std::move(made));
  }
  std::vector<double> tolerances;
  for (size_t i = 0; i < run.results.size(); ++i)
    tolerances.push_back(run.results[i].bytes.empty() ? 0
                                                      : widened * tolerance_of_sums(run.results[i], results[0][i],
                                                                                    results[1][i], fast ? kFastProduct : 0));
  return tolerances;
}

/// How far results move if each operand is off by a few roundings, at random: the root of the sum of the squares of each one's
/// own effect; n numbers added up in magnitude are at most √n times that.
Result<std::vector<double>> of_movement(BoundStep& bound, const StepRun& run) {
  std::vector<double> moved(run.results.size(), 0);
  DType operands = DType::float32;
  // One sample is enough if many elements are checked.
  const bool small = std::any_of(run.results.begin(), run.results.end(),
                                 [](const HostTensor& result) { return !result.bytes.empty() && element_count(result) < 64; });
  for (uint64_t sample = 0; sample < (small ? 6 : 1); ++sample) {
    std::vector<HostTensor> off;
    for (size_t i = 0; i < bound.own_inputs(); ++i) {
      const HostTensor& input = *run.inputs[i];
      off.push_back(perturbed(input, 4 * rounding_error(input.dtype), sample << 32 | i));
      if (rounding_error(input.dtype) > rounding_error(operands)) operands = input.dtype;
    }
    auto around = run.inputs;
    for (size_t i = 0; i < off.size(); ++i) around[i] = &off[i];
    SHEAF_ASSIGN(auto others, bound.run(around));
    for (size_t i = 0; i < moved.size(); ++i) moved[i] = std::max(moved[i], largest_difference(run.results[i], others[i]));
  }
  const Step& step = run.program.steps[index_of(run.step)];
  SHEAF_ASSIGN(auto terms, Terms(run, step).by_output());
  const double longest = *std::max_element(terms.begin(), terms.end());
  for (size_t i = 0; i < moved.size(); ++i) moved[i] = tolerance_of(run.results[i], moved[i], terms[i], longest, operands);
  if (!traits(step.op).centred) return moved;
  // If all numbers are alike, what remains is their mean's error, which random roundings don't show.
  const HostTensor off = perturbed(*run.inputs[0], error_of_mean(longest), 1);
  auto around = run.inputs;
  around[0] = &off;
  SHEAF_ASSIGN(auto others, bound.run(around));
  for (size_t i = 0; i < moved.size(); ++i) moved[i] += largest_difference(run.results[i], others[i]);
  return moved;
}

}  // namespace

Result<std::vector<double>> tolerances_of(const StepRunner& runner, BoundStep& bound, const StepRun& run, bool fast) {
  const Step& step = run.program.steps[index_of(run.step)];
  if (traits(step.op).adds == Adds::nothing) return of_movement(bound, run);
  if (!step.attributes.contains("activation")) return of_sums(bound, run, 1, fast);
  SHEAF_ASSIGN(auto sums, runner.bind(run.program, run.step, run.sizes, run.replica, StepRunner::without_activation));
  return of_sums(sums, run, steepest(step), fast);
}

}  // namespace sheaf
