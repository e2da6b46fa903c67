// Sheaf's passes and pipelines.
#pragma once

#include "ir/Dist/Dist.h"
#include "ir/Nn/Nn.h"
#include "runtime/plan/strategy.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Pass/Pass.h"
#include "mlir/Pass/PassManager.h"

namespace sheaf::passes {

#define GEN_PASS_DECL
#include "passes/Passes.h.inc"
#define GEN_PASS_REGISTRATION
#include "passes/Passes.h.inc"

struct PipelineOptions {
  int64_t device_memory = 0;      ///< bytes of a device; 0: not given (then no table moves to the host because of its size)
  std::string precision = "f32";  ///< arithmetic: f32, bf16 or f16 (docs/precision.md)
  bool unpartitioned = false;     ///< without parallel regions, everything on one device
  Strategy strategy = Strategy::data_parallel;  ///< of training programs (docs/strategies.md)
  bool training_mode = false;                   ///< of a caller's program: layers in their training form
  bool differentiate = false;                   ///< of a caller's program: with its backward pass
};

/// nn → dist: shapes, placement, partition, simplification. `dump` shows the result.
void build_partition_pipeline(mlir::OpPassManager& passes, const PipelineOptions& options);

/// Inside the regions of dist: layers → library calls and kernels. The runtime executes the result (inference).
void build_inference_pipeline(mlir::OpPassManager& passes);

/// nn → dist for a training step, with its backward pass and updates. `dump --program train` shows the result.
void build_training_pipeline(mlir::OpPassManager& passes, const PipelineOptions& options);

/// The same for a batch in parts: the module's function becomes two, `accumulate` and `update` (dist-accumulate).
void build_accumulation_pipeline(mlir::OpPassManager& passes, const PipelineOptions& options);

/// nn → dist for callers that hold parameters and take gradients themselves (dist-take-parameters): `forward` or, for a
/// function with `nn.differentiate`, `backward`.
void build_caller_pipeline(mlir::OpPassManager& passes, const PipelineOptions& options);

/// Inside the regions of a training step: layers → library calls and kernels.
void build_training_lowering_pipeline(mlir::OpPassManager& passes);

/// Instead of the two lowerings: each op is a step of its own, nothing is folded or fused. `verify` compares with this form.
void build_plain_lowering_pipeline(mlir::OpPassManager& passes);

/// Registers every pass and pipeline for sheaf-opt.
void register_all();

}  // namespace sheaf::passes
