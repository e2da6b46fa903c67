// The order of passes, and the reason for each position.
#include "passes/Passes.h"

#include "mlir/Pass/PassRegistry.h"
#include "mlir/Transforms/Passes.h"

using namespace mlir;

namespace sheaf::passes {

namespace {

void add_simplification(OpPassManager& passes) {
  passes.addPass(createDistSimplify());
  passes.addNestedPass<func::FuncOp>(createDistMergeApplies());
}

/// From placement to a dist program.
void add_partition(OpPassManager& passes, const PipelineOptions& options) {
  NnPlaceOptions place;
  place.deviceMemory = options.device_memory;
  passes.addNestedPass<func::FuncOp>(createNnPlace(place));
  // Casts are placed with the layer that asks for them, so places must be known; and they precede the backward pass, in which
  // each has its dual.
  NnSetPrecisionOptions precision;
  precision.precision = options.precision;
  passes.addNestedPass<func::FuncOp>(createNnSetPrecision(precision));
  // It makes casts of its own, and sums that only dist-partition knows.
  passes.addNestedPass<func::FuncOp>(createNnSynchronize());
  passes.addPass(createDistPartition());
  // Partition is local and inserts what each op needs by itself; this removes what turns out to be superfluous.
  add_simplification(passes);
}

}  // namespace

void build_partition_pipeline(OpPassManager& passes, const PipelineOptions& options) {
  if (options.unpartitioned) passes.addNestedPass<func::FuncOp>(createNnInlineRegions());
  // Placement weighs embedding tables and partition splits along dimensions: both need shapes.
  passes.addNestedPass<func::FuncOp>(createNnInferShapes());
  // Regions are as the user wrote them only up to here.
  passes.addNestedPass<func::FuncOp>(createNnWarnMixing());
  add_partition(passes, options);
}

void build_inference_pipeline(OpPassManager& passes) {
  // Lowers layers first: their parts (linear, softmax, reshape) are fused like any other op.
  passes.addNestedPass<func::FuncOp>(createNnLowerLayers());
  // A batch norm must be gone before activations can reach the convolution in front of it.
  passes.addNestedPass<func::FuncOp>(createNnFoldBatchNorm());
  // Library calls take what they can first; the remaining element-wise ops become kernels.
  passes.addNestedPass<func::FuncOp>(createNnFuseLibrary());
  // What is summed fuses with the first step of a long sum, and what becomes of the sum with the second.
  passes.addNestedPass<func::FuncOp>(createNnSplitSums());
  passes.addNestedPass<func::FuncOp>(createNnFuseElementwise());
}

/// Passes that must run before the backward pass is built.
static void add_preparation(OpPassManager& passes) {
  // A lowered layer has its parts' gradients. A long attention has a gradient of its own, which keeps no weights; the target's value of many
  // classes has none.
  NnLowerLayersOptions lowering;
  lowering.beforeGradients = true;
  passes.addNestedPass<func::FuncOp>(createNnLowerLayers(lowering));
  passes.addNestedPass<func::FuncOp>(createNnKeepWorkspaces());
}

/// From nn to a step's gradients.
static void add_differentiation(OpPassManager& passes, const PipelineOptions& options, bool accumulate) {
  if (options.unpartitioned) passes.addNestedPass<func::FuncOp>(createNnInlineRegions());
  passes.addNestedPass<func::FuncOp>(createNnInferShapes());
  // It needs ranks, and comes before placement, since the ops it adds need a place too.
  NnTrainingModeOptions mode;
  mode.accumulate = accumulate;
  passes.addNestedPass<func::FuncOp>(createNnTrainingMode(mode));
  add_partition(passes, options);
  add_preparation(passes);
  // Before the backward pass, which has no dual for an assignment.
  passes.addNestedPass<func::FuncOp>(createDistCollectUpdates());
  passes.addNestedPass<func::FuncOp>(createDistDifferentiate());
  // Gradients exist, and nothing has been moved yet to where parameters live.
  switch (options.strategy) {
    case Strategy::data_parallel: break;
    case Strategy::replicated: passes.addNestedPass<func::FuncOp>(createDistReplicateState()); break;
    case Strategy::sharded: passes.addNestedPass<func::FuncOp>(createDistShardState()); break;
    case Strategy::fully_sharded: passes.addNestedPass<func::FuncOp>(createDistShardParameters()); break;
  }
}

void build_training_pipeline(OpPassManager& passes, const PipelineOptions& options) {
  add_differentiation(passes, options, /*accumulate=*/false);
  passes.addNestedPass<func::FuncOp>(createDistOptimize());
  // Removes what nobody needs (a statistic of replica 1); each device's updates become one body.
  add_simplification(passes);
}

void build_accumulation_pipeline(OpPassManager& passes, const PipelineOptions& options) {
  add_differentiation(passes, options, /*accumulate=*/true);
  passes.addPass(createDistAccumulate());
  // For the second function, which has the gradients now.
  passes.addNestedPass<func::FuncOp>(createDistOptimize());
  add_simplification(passes);
}

void build_caller_pipeline(OpPassManager& passes, const PipelineOptions& options) {
  if (options.unpartitioned) passes.addNestedPass<func::FuncOp>(createNnInlineRegions());
  passes.addNestedPass<func::FuncOp>(createNnInferShapes());
  if (options.training_mode) passes.addNestedPass<func::FuncOp>(createNnTrainingMode());
  add_partition(passes, options);
  if (options.differentiate) {
    add_preparation(passes);
    passes.addNestedPass<func::FuncOp>(createDistCollectUpdates());
    passes.addNestedPass<func::FuncOp>(createDistDifferentiate());
  } else {
    passes.addNestedPass<func::FuncOp>(createDistCollectUpdates());
  }
  // No later pass needs the roles of parameters and buffers.
  passes.addNestedPass<func::FuncOp>(createDistTakeParameters());
  add_simplification(passes);
}

void build_training_lowering_pipeline(OpPassManager& passes) {
  // Lowers what was kept whole until its dual was built.
  passes.addNestedPass<func::FuncOp>(createNnLowerLayers());
  // Without nn-fold-batch-norm: statistics are the batch's own.
  passes.addNestedPass<func::FuncOp>(createNnFuseLibrary());
  // What is summed fuses with the first step of a long sum, and what becomes of the sum with the second.
  passes.addNestedPass<func::FuncOp>(createNnSplitSums());
  passes.addNestedPass<func::FuncOp>(createNnFuseElementwise());
}

void build_plain_lowering_pipeline(OpPassManager& passes) {
  passes.addNestedPass<func::FuncOp>(createNnLowerLayers());
  // Element-wise ops have kernels only in groups: here each becomes a group.
  NnFuseElementwiseOptions apart;
  apart.join = false;
  passes.addNestedPass<func::FuncOp>(createNnFuseElementwise(apart));
}

void register_all() {
  registerSheafPasses();
  PassPipelineRegistration<>("sheaf-partition", "nn to dist: what dump shows",
                             [](OpPassManager& passes) { build_partition_pipeline(passes, {}); });
  PassPipelineRegistration<>("sheaf-inference", "dist to library calls and kernels",
                             [](OpPassManager& passes) { build_inference_pipeline(passes); });
  PassPipelineRegistration<>("sheaf-training", "a training step in nn to dist, with its backward pass and updates",
                             [](OpPassManager& passes) { build_training_pipeline(passes, {}); });
  PassPipelineRegistration<>("sheaf-accumulation", "a training step in nn to dist, for a batch in parts",
                             [](OpPassManager& passes) { build_accumulation_pipeline(passes, {}); });
  PassPipelineRegistration<>("sheaf-training-lowering", "a dist training step to library calls and kernels",
                             [](OpPassManager& passes) { build_training_lowering_pipeline(passes); });
}

}  // namespace sheaf::passes
