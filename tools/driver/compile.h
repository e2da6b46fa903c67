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
  bool objects = true;                          ///< machine code of the kernels too: a plan without it can be shown, not run
  /// Only this program ("infer", "train", "accumulate", "update"), with those made together with it: the plan can be shown,
  /// explained and bound for it. Empty: all programs of the model.
  std::string only = "";
  /// With `forward` and `backward`, for callers who hold parameters and take gradients
  /// (docs/training.md#gradients-for-callers).
  struct Gradients {
    bool training_mode = true;         ///< layers in their training form; else as in evaluation
    std::vector<std::string> of = {};  ///< names of the inputs and parameters
  };
  std::optional<Gradients> gradients = {};
  bool unpartitioned = false;  ///< without parallel regions and devices: `verify` compares the plan with it
  bool unfused = false;        ///< nothing folded or fused: every layer's value exists
  int64_t device_memory = 0;   ///< bytes of a device; an embedding table beyond it goes to the host. 0: not given
};

/// The compiler's results besides the plan.
struct CompileReport {
  std::vector<Diagnostic> warnings;
  bool mixes_rows =
      false;  ///< a parallel region mixes what it splits, as one of the warnings says: results depend on the devices
};

/// Compiles a checked model. Errors are located in the model file, with its line; all errors that a pass reports are returned
/// together. If memory runs out, LLVM's handler of failed allocations is called, which doesn't return.
Result<Plan> compile(const frontend::Model& model, const CompileOptions& options = {}, CompileReport* report = nullptr);

}  // namespace sheaf
