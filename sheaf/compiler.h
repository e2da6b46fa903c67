// The compiler as a function: a model file in, a plan out. Component `compiler` of the package (target sheaf::compiler), which
// needs MLIR; the plans it makes run without MLIR.
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
  /// "data_parallel", "replicated", "sharded" or "fully_sharded": what each replica keeps in training (docs/strategies.md).
  std::string strategy = "data_parallel";
  /// Memory of a device in bytes: a larger embedding table goes to the host. 0: not stated.
  int64_t device_memory = 0;
  /// "train" or "eval": adds the programs "forward" and "backward" (sheaf/gradients.h), layers in that mode; empty: none.
  std::string gradients;
  /// Names of the inputs and parameters whose gradients "backward" computes; `module.` parts may be omitted.
  std::vector<std::string> gradients_of;
  /// A `training` section as JSON (docs/model-format.md) that replaces the model's own; empty: the model's own, if it has one.
  std::string training;
};

struct CompiledPlan {
  SharedPlan plan;
  std::vector<Diagnostic> warnings;  ///< located in the model file
  /// A parallel region mixes rows that it splits (one of the warnings says so): results depend on the devices.
  bool mixes_rows = false;
};

/// Compiles a model file. Any number of threads may compile at the same time. Errors, located in the file, with the line: it
/// can't be read; everything that is wrong with the model; an unknown precision or strategy.
Result<CompiledPlan> compile_file(const std::string& file, const CompilerOptions& options = {});

/// The same for a model file's content; `name` replaces the file in messages, and names a model that has no name.
Result<CompiledPlan> compile_text(const std::string& text, const CompilerOptions& options = {},
                                  const std::string& name = "model.json");

}  // namespace sheaf
