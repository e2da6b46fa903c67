// The compiler as a function: a model file in, a plan out. Component `compiler` of the package (target sheaf::compiler), which needs
// MLIR; plans that it makes run without.
//
//   auto compiled = sheaf::compile_file("tutorial.json");
//   if (!compiled) { std::cerr << to_string(compiled.error()); return 1; }
//   auto model = sheaf::Model::from_plan(compiled->plan);
#pragma once

#include "runtime/base/error.h"
#include "sheaf/plan.h"

#include <cstdint>
#include <string>
#include <vector>

namespace sheaf {

struct CompilerOptions {
  /// "f32", "bf16" or "f16": the plan's arithmetic. Parameters, statistics and sums stay f32 (docs/precision.md).
  std::string precision = "f32";
  /// "data_parallel", "replicated", "sharded" or "fully_sharded": what each replica of a training step keeps (docs/strategies.md).
  std::string strategy = "data_parallel";
  /// Bytes that a device has: an embedding table beyond it goes to the host. 0: not stated.
  int64_t device_memory = 0;
  /// "train" or "eval": with the programs "forward" and "backward" (sheaf/gradients.h), layers being as in that mode; empty: without.
  std::string gradients;
  /// Names of the inputs and parameters that "backward" gives gradients of; `module.` parts may be left out.
  std::vector<std::string> gradients_of;
  /// A `training` section as JSON (docs/model-format.md), taken in place of the model's own; empty: the model's own, if it has one.
  std::string training;
};

struct CompiledPlan {
  SharedPlan plan;
  std::vector<Diagnostic> warnings;  ///< located in the model file
  /// A parallel region mixes rows that it splits, as one of the warnings says: results depend on the devices.
  bool mixes_rows = false;
};

/// Compiles a model file. Any number of threads may compile at the same time. Errors, located in the file, with the line: it can't be
/// read; what is wrong with the model, all of it; an unknown precision or strategy.
Result<CompiledPlan> compile_file(const std::string& file, const CompilerOptions& options = {});

/// The same of a model file's content; `name` stands for the file in messages, and names the model that has no name.
Result<CompiledPlan> compile_text(const std::string& text, const CompilerOptions& options = {},
                                  const std::string& name = "model.json");

}  // namespace sheaf
