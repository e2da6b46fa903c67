// Loss scaling (docs/precision.md): which gradients overflowed, skipped updates, the update of the scale itself. All formulas
// are torch.amp.GradScaler's; `nonfinite` is a 0-dimensional f32, the number of the gradients' elements that aren't finite.
#ifndef SHEAF_NN_LOSS_SCALE_TD
#define SHEAF_NN_LOSS_SCALE_TD

include "ir/Nn/NnGradient.td"

def Nn_NonfiniteOp : Nn_LayerOp<"nonfinite"> {
  let summary = "how many elements of all `values` are infinite or NaN: a 0-dimensional float32 tensor";
  let arguments = (ins Variadic<AnyTensor>:$values);
  let results = (outs AnyTensor:$y);
  let assemblyFormat = "$values attr-dict `:` functional-type(operands, results)";
}

def Nn_KeepUnlessFiniteOp : Nn_TrainingElementwiseOp<"keep_unless_finite"> {
  let summary = "`updated`, or `old`, to the bit, if any gradient wasn't finite";
  let arguments = (ins AnyTensor:$old, AnyTensor:$updated, AnyTensor:$nonfinite);
  let results = (outs AnyTensor:$y);
  let assemblyFormat = "$old `,` $updated `unless` $nonfinite attr-dict `:` functional-type(operands, results)";
}

def Nn_LossScaleOp : Nn_TrainingElementwiseOp<"loss_scale"> {
  let summary = "the next step's scale: times backoff_factor after an overflow, times growth_factor after growth_interval steps without";
  let description = [{
    `tracker` is the number of steps without an overflow since the scale last changed, before this one. A scale that would grow
    beyond float32 stays.
  }];
  let arguments = (ins AnyTensor:$scale, AnyTensor:$tracker, AnyTensor:$nonfinite, F64Attr:$growth_factor, F64Attr:$backoff_factor,
                       I64Attr:$growth_interval);
  let results = (outs AnyTensor:$y);
  let assemblyFormat = "$scale `,` $tracker `,` $nonfinite attr-dict `:` functional-type(operands, results)";
}

def Nn_GrowthTrackerOp : Nn_TrainingElementwiseOp<"growth_tracker"> {
  let summary = "tracker + 1; 0 after an overflow, or if that is growth_interval";
  let arguments = (ins AnyTensor:$tracker, AnyTensor:$nonfinite, I64Attr:$growth_interval);
  let results = (outs AnyTensor:$y);
  let assemblyFormat = "$tracker `,` $nonfinite attr-dict `:` functional-type(operands, results)";
}

#endif
