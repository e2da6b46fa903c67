// What becomes of the elements along dimensions, besides sum and mean (NnGradient.td, NnTensor.td).
#ifndef SHEAF_NN_REDUCTION_TD
#define SHEAF_NN_REDUCTION_TD

include "ir/Nn/NnGradient.td"

def Nn_ExtremumOp : Nn_TensorOp<"extremum", (ins DenseI64ArrayAttr:$dims, BoolAttr:$keepdim, BoolAttr:$minimum)> {
  let summary = "torch.amax or amin over `dims`, NaN where there is one; equal extrema share the gradient";
}
def Nn_VarOp : Nn_TensorOp<"var", (ins DenseI64ArrayAttr:$dims, BoolAttr:$keepdim, F64Attr:$correction), []> {
  let summary = "torch.var over `dims`: Σ (x - mean)² / (n - correction); nn-lower-layers takes it apart";
}
def Nn_ArgExtremumOp : Nn_TensorOp<"arg_extremum", (ins I64Attr:$dim, BoolAttr:$keepdim, BoolAttr:$minimum), []> {
  let summary = "torch.argmax or argmin along `dim`: the position, int64, of the first largest (smallest) element, or first NaN";
}
def Nn_CumSumOp : Nn_TensorOp<"cum_sum", (ins I64Attr:$dim, UnitAttr:$reverse)> {
  let summary = "y[i] = Σ x[j] over j ≤ i along `dim`; j ≥ i with `reverse`";
}
def Nn_EqualMaskOp : Nn_TrainingElementwiseOp<"equal_mask"> {
  let summary = "1 where a = b or both are NaN, else 0; broadcast as in PyTorch";
  let arguments = (ins AnyTensor:$a, AnyTensor:$b);
  let results = (outs AnyTensor:$y);
  let assemblyFormat = "$a `,` $b attr-dict `:` functional-type(operands, results)";
}

#endif
