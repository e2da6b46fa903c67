// Programs with batch norms, for tests of what binding makes of them.
#pragma once

#include "runtime/bind/fuse_norms.h"
#include "runtime/plan/op_list.h"

#include <string>
#include <vector>

namespace sheaf {

/// Builds a program by value names; every value is a temporary of one place.
class Steps {
 public:
  int value(const std::string& name) {
    for (size_t i = 0; i < program.values.size(); ++i) {
      if (program.values[i].name == name) return static_cast<int>(i);
    }
    program.values.push_back({});
    program.values.back().name = name;
    return static_cast<int>(program.values.size()) - 1;
  }
  /// `layer`: a library operation, which also names its layer, or with `pattern` a kernel.
  StepId add(const std::string& layer, const std::vector<std::string>& roles, const std::vector<std::string>& inputs,
             const std::vector<std::string>& outputs, const std::string& pattern = "") {
    Step step;
    step.op = pattern.empty() ? *op_from_name(layer) : Op::kernel;
    step.layer = layer;
    step.roles = roles;
    for (const auto& input : inputs) step.inputs.push_back(value(input));
    for (const auto& output : outputs) step.outputs.push_back(value(output));
    if (!pattern.empty()) step.attributes["pattern"] = pattern;
    program.steps.push_back(std::move(step));
    return StepId(program.steps.size() - 1);
  }
  StepId norm(const std::string& x, const std::string& y) {
    return add("batch_norm_train", {"x", "weight", "bias"}, {x, "w", "b"}, {y, y + ".mean", y + ".var"});
  }
  StepId norm_backward(const std::string& x, const std::string& y, const std::string& dy, const std::string& dx) {
    return add("batch_norm_backward", {"x", "dy", "mean", "var", "weight"}, {x, dy, y + ".mean", y + ".var", "w"},
               {dx, "dw", "db"});
  }
  Program program;
};

}  // namespace sheaf
