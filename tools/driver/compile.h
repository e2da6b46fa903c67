// Model file → plan: the compiler as a function.
#pragma once

#include "frontend/model.h"
#include "runtime/plan/plan.h"
#include "runtime/plan/strategy.h"

#include <optional>
#include <string>
#include <vector>

namespace sheaf {

struct CompileOptions {
  std::string precision = "f32";
  Strategy strategy = Strategy::data_parallel;  ///< of training programs
  bool objects = true;                          ///< machine code of the kernels too: a plan without can be shown, not run
  /// This program alone ("infer", "train", "accumulate", "update"), with what is made together with it: the plan can be shown,
  /// explained and bound for it. Empty: all that the model has.
  std::string only = "";
  /// With `forward` and `backward`, for callers who hold parameters and take gradients (docs/training.md#gradients-for-callers).
  struct Gradients {
    bool training_mode = true;         ///< layers as they are in training; else as in evaluation
    std::vector<std::string> of = {};  ///< names of the inputs and parameters
  };
  std::optional<Gradients> gradients = {};
  bool unpartitioned = false;  ///< without parallel regions and devices: what `verify` compares the plan with
  bool unfused = false;        ///< nothing folded or fused: every layer's value is there
  int64_t device_memory = 0;   ///< bytes a device has; an embedding table beyond it goes to the host. 0: not stated
};

/// What compiling has to say besides the plan.
struct CompileReport {
  std::vector<Diagnostic> warnings;
  bool mixes_rows =
      false;  ///< a parallel region mixes what it splits, as one of the warnings says: results depend on the devices
};

/// Compiles a checked model. Errors are located in the model file, with its line; all that a pass reports are
/// returned together. Where memory runs out, LLVM's handler of failed allocations is called, which doesn't return.
Result<Plan> compile(const frontend::Model& model, const CompileOptions& options = {}, CompileReport* report = nullptr);

}  // namespace sheaf
