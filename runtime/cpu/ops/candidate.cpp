#include "runtime/cpu/ops/candidate.h"

#include "runtime/ops/traits.h"

#include <algorithm>
#include <cstdio>

namespace sheaf {
namespace {

/// All that computing the operation depends on but the layouts at hand, which depend on other choices, and the machine.
std::string key_of(const Operation& operation) {
  const PrepareRequest& request = operation.request;
  std::string key = to_string(request.step.op);
  const auto add = [&](const TensorSpec& tensor) { key += std::string(name_of(tensor.dtype)) + to_string(tensor.dims); };
  for (size_t i = 0; i < request.inputs.size(); ++i) {
    key += " " + request.step.roles[i] + " ";
    if (i < request.constant.size() && request.constant[i]) key += "fixed ";
    add(request.inputs[i]);
  }
  key += " ->";
  for (const TensorSpec& output : request.outputs) {
    key += " ";
    add(output);
  }
  key += " " + request.step.attributes.dump();
  key += request.fast_numerics ? " fast" : " strict";
  return key + ", threads " + std::to_string(request.threads);
}

}  // namespace

std::string alternatives(const Operation& operation, const Selection& selection) {
  if (!operation.request.explain) return "";
  if (selection.candidates.size() < 2) return "; no other candidate fits";
  const double taken = selection.candidates[selection.taken].seconds;
  std::string others;
  for (size_t i = 0; i < selection.candidates.size(); ++i) {
    const auto& [name, seconds] = selection.candidates[i];
    if (seconds < taken) return "";
    if (i == selection.taken) continue;
    char ratio[32];
    std::snprintf(ratio, sizeof ratio, " %.2f ×", seconds / taken);
    others += (others.empty() ? "" : ", ") + name + ratio;
  }
  return "; other candidates by the cost model: " + others;
}

void take_candidate(const Operation& operation, Selection& selection) {
  selection.key = key_of(operation);
  const auto& candidates = selection.candidates;
  const auto least = std::min_element(candidates.begin(), candidates.end(),
                                      [](const auto& a, const auto& b) { return a.seconds < b.seconds; });
  selection.taken = size_t(least - candidates.begin());
  if (!operation.request.choices) return;
  const std::string_view wanted = operation.request.choices->candidate(selection.key);
  for (size_t i = 0; i < candidates.size(); ++i)
    if (candidates[i].name == wanted) selection.taken = i;
}

}  // namespace sheaf
