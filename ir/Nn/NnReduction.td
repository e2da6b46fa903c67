// Reductions along dimensions, besides sum and mean (NnGradient.td, NnTensor.td).
#ifndef SHEAF_NN_REDUCTION_TD
#define SHEAF_NN_REDUCTION_TD

include "ir/Nn/NnGradient.td"

def Nn_ExtremumOp : Nn_TensorOp<"extremum", (ins DenseI64ArrayAttr:$dims, BoolAttr:$keepdim, BoolAttr:$minimum)> {
  let summary = "torch.amax or amin over `dims`, NaN if any element is; equal extrema share the gradient";
}
def Nn_VarOp : Nn_TensorOp<"var", (ins DenseI64ArrayAttr:$dims, BoolAttr:$keepdim, F64Attr:$correction), []> {
  let summary = "torch.var over `dims`: Σ (x - mean)² / (n - correction); nn-lower-layers lowers it";
}
def Nn_ArgExtremumOp : Nn_TensorOp<"arg_extremum", (ins I64Attr:$dim, BoolAttr:$keepdim, BoolAttr:$minimum), []> {
  let summary = "torch.argmax or argmin along `dim`: the position, int64, of the first largest (smallest) element, or first NaN";
}
def Nn_CumSumOp : Nn_TensorOp<"cum_sum", (ins I64Attr:$dim, UnitAttr:$reverse)> {
  let summary = "y[i] = Σ x[j] over j ≤ i along `dim`; j ≥ i with `reverse`";
}
def Nn_ScanOp : Nn_TensorOp<"scan", (ins I64Attr:$dim, StrAttr:$take)> {
  let summary = "y[i] = Π x[j] (`take` = product) or log Σ e^x[j] (log_sum_exp) over j ≤ i along `dim`";
}
def Nn_ScanBackwardOp : Nn_LayerOp<"scan_backward"> {
  let summary = "the dual of scan";
  let arguments = (ins AnyTensor:$dy, AnyTensor:$x, AnyTensor:$y, I64Attr:$dim, StrAttr:$take);
  let results = (outs AnyTensor:$dx);
  let assemblyFormat = "$dy `,` $x `,` $y attr-dict `:` functional-type(operands, results)";
}
def Nn_ArgScanOp : Nn_TensorOp<"arg_scan", (ins I64Attr:$dim, BoolAttr:$minimum), []> {
  let summary = "the indices of torch.cummax or cummin: the position, int64, of the last largest (smallest) element so far";
}
def Nn_ArgSortOp : Nn_TensorOp<"arg_sort", (ins I64Attr:$dim, BoolAttr:$descending), []> {
  let summary = "torch.argsort along `dim`, stable: positions, int64; NaN is the largest";
}
def Nn_EqualMaskOp : Nn_TrainingElementwiseOp<"equal_mask"> {
  let summary = "1 where a = b or both are NaN, else 0; broadcast as in PyTorch";
  let arguments = (ins AnyTensor:$a, AnyTensor:$b);
  let results = (outs AnyTensor:$y);
  let assemblyFormat = "$a `,` $b attr-dict `:` functional-type(operands, results)";
}

#endif
