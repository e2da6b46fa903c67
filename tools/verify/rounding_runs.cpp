#include "tools/verify/rounding_runs.h"

#include "runtime/ops/traits.h"
#include "tools/verify/step_runner.h"
#include "tools/verify/tolerance.h"

#include <algorithm>

namespace sheaf {
namespace {

constexpr int kRuns = 4;
/// With this factor, an error beyond everything one run measured is practically impossible.
constexpr double kMargin = 4;

/// Relative to an element: more than the error of sums of thousands of terms in any order; for a narrow result, which is
/// rounded when stored, a few roundings.
double noise_of(DType dtype, bool fast) {
  const double rounding = rounding_error(dtype);
  if (dtype == DType::float32) return fast ? 0x1p-10 : 64 * rounding;
  return 2 * rounding;
}

/// By value: whether a number is imposed on it.
std::vector<bool> imposed_values(const Program& program, const RunRequest& request) {
  std::vector<bool> imposed(program.values.size(), false);
  for (const auto& [value, tensor] : request.imposed) imposed[static_cast<size_t>(value)] = true;
  return imposed;
}

/// By value: whether an operation computes it from others, rather than moving or reshaping it.
std::vector<bool> computed_values(const Program& program) {
  std::vector<bool> computed(program.values.size(), false);
  for (const Step& step : program.steps) {
    if (traits(step.op).passes_on) continue;
    for (size_t i = 0; i < step.outputs.size(); ++i)
      computed[static_cast<size_t>(step.outputs[i])] = !is_opaque(program, step, i);
  }
  for (const Update& update : program.updates) computed[static_cast<size_t>(update.value)] = false;
  return computed;
}

Result<RunResults<HostTensor>> run(ObservedProgram& bound, const RunRequest& request, const Intervention& change) {
  RunResults<HostTensor> results;
  SHEAF_ASSIGN(auto values, bound.capture(request.variables, request.given, request.wanted, change));
  results.values = std::move(values);
  results.outputs = bound.results();
  for (const Update& update : bound.program().updates) {
    SHEAF_ASSIGN(results.updated[update.name], bound.variable(update.name));
  }
  return results;
}

bool impose(const RunRequest& request, int value, HostTensor& tensor) {
  const auto found = request.imposed.find(value);
  if (found == request.imposed.end()) return false;
  tensor = found->second;
  return true;
}

void widen(double& largest, const HostTensor& exact, const HostTensor& moved) {
  largest = std::max(largest, largest_difference(exact, moved));
}

}  // namespace

Result<RunResults<HostTensor>> run_observed(ObservedProgram& bound, const RunRequest& request) {
  return run(bound, request, {imposed_values(bound.program(), request), [&](int value, HostTensor& tensor) {
                                return impose(request, value, tensor);
                              }});
}

Result<RunResults<double>> measure_rounding(ObservedProgram& bound, const RunRequest& request,
                                            const RunResults<HostTensor>& exact, bool fast) {
  const std::vector<bool> computed = computed_values(bound.program());
  std::vector<bool> seen = imposed_values(bound.program(), request);
  for (size_t i = 0; i < seen.size(); ++i) seen[i] = seen[i] || computed[i];
  RunResults<double> off;
  off.outputs.resize(exact.outputs.size());
  for (int i = 0; i < kRuns; ++i) {
    uint64_t drawn = static_cast<uint64_t>(i + 1) << 32;
    const auto moved = [&](const HostTensor& tensor) { return perturbed(tensor, noise_of(tensor.dtype, fast), drawn++); };
    NamedTensors given;
    for (const auto& [name, tensor] : request.given) given[name] = moved(tensor);
    const RunRequest around{request.variables, given, request.wanted, {}};
    auto results =
        run(bound, around, {seen, [&](int value, HostTensor& tensor) {
                              const bool imposed = impose(request, value, tensor),
                                         moves = computed[static_cast<size_t>(value)] && rounding_error(tensor.dtype) > 0;
                              if (moves) tensor = moved(tensor);
                              return imposed || moves;
                            }});
    if (!results) return results.error();
    for (const auto& [value, tensor] : exact.values)
      if (results->values.contains(value)) widen(off.values[value], tensor, results->values.at(value));
    for (size_t j = 0; j < exact.outputs.size(); ++j) widen(off.outputs[j], exact.outputs[j], results->outputs[j]);
    for (const auto& [name, tensor] : exact.updated) widen(off.updated[name], tensor, results->updated.at(name));
  }
  // An end result is rounded at least once, when it is stored.
  const auto allow = [](double& difference, const HostTensor& tensor) {
    difference = kMargin * difference + 8 * rounding_error(tensor.dtype) * largest_magnitude(tensor);
  };
  for (auto& [value, difference] : off.values) allow(difference, exact.values.at(value));
  for (size_t j = 0; j < exact.outputs.size(); ++j) allow(off.outputs[j], exact.outputs[j]);
  for (auto& [name, difference] : off.updated) allow(difference, exact.updated.at(name));
  return off;
}

}  // namespace sheaf
