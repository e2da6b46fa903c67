// Operations that take, turn or look up parts of a tensor. nn-lower-layers lowers those that can specify a part in several
// ways, as in PyTorch, to nn.slice, nn.pad and nn.concat.
#ifndef SHEAF_NN_INDEXING_TD
#define SHEAF_NN_INDEXING_TD

include "ir/Nn/NnTensor.td"

def Nn_StridedSliceOp : Nn_TensorOp<"strided_slice", (ins I64Attr:$dim, I64Attr:$start, OptionalAttr<I64Attr>:$end,
    I64Attr:$step), []> {
  let summary = "x[start:end:step] along `dim`: clamped, negative positions counted from the end";
}
def Nn_SplitOp : Nn_LayerOp<"split"> {
  let summary = "torch.split: parts of x along `dim`, one after the other";
  let description = [{
    `sections` are the parts' sizes, or one number, the size of all parts but the last. In that case there may be fewer results
    than parts: the first ones.
  }];
  let arguments = (ins AnyTensor:$x, DenseI64ArrayAttr:$sections, I64Attr:$dim);
  let results = (outs Variadic<AnyTensor>:$parts);
  let assemblyFormat = "$x attr-dict `:` functional-type(operands, results)";
}
def Nn_RollOp : Nn_TensorOp<"roll", (ins DenseI64ArrayAttr:$shifts, DenseI64ArrayAttr:$dims), []> {
  let summary = "torch.roll: elements move on by shifts[i] along dims[i], and from the end to the beginning";
}
def Nn_FlipOp : Nn_TensorOp<"flip", (ins DenseI64ArrayAttr:$dims), []> { let summary = "reversed along `dims`"; }
def Nn_BorderOp : Nn_TensorOp<"border", (ins DenseI64ArrayAttr:$pad, StrAttr:$mode, F64Attr:$value), []> {
  let summary = "torch.nn.functional.pad: `pad` has (before, after) of the last dimension, then of the one before it, …";
  let description = "`mode` is constant (`value`; negative sizes cut off), reflect, replicate or circular.";
}
def Nn_UnsqueezeOp : Nn_TensorOp<"unsqueeze", (ins I64Attr:$dim), []> { let summary = "a dimension of size 1 at `dim`"; }
def Nn_SqueezeOp : Nn_TensorOp<"squeeze", (ins DenseI64ArrayAttr:$dims), []> {
  let summary = "drops the dimensions of size 1 among `dims`, or all of size 1 if there are no `dims`";
}

/// A lookup of elements by number; x's sizes are those of the table.
class Nn_LookupOp<string mnemonic> : Nn_LayerOp<mnemonic, [Nn_Gradient]> {
  let arguments = (ins AnyTensor:$index, AnyTensor:$x, I64Attr:$dim);
  let results = (outs AnyTensor:$y);
  let assemblyFormat = "$index `,` $x attr-dict `:` functional-type(operands, results)";
}
def Nn_IndexSelectOp : Nn_LookupOp<"index_select"> {
  let summary = "y[…, i…, …] = x[…, index[i…], …] with index's dimensions in place of `dim`";
}
def Nn_GatherElementsOp : Nn_LookupOp<"gather_elements"> {
  let summary = "torch.gather: y[…, i, …] = x[…, index[…, i, …], …] along `dim`";
  let description = "index and y have x's sizes except along `dim`.";
}

class Nn_LookupBackwardOp<string mnemonic> : Nn_LayerOp<mnemonic> {
  let description = "`size` is x's size along `dim`. Summands are added in index's order; indices beyond `size` are skipped.";
  let arguments = (ins AnyTensor:$index, AnyTensor:$dy, I64Attr:$dim, I64Attr:$size);
  let results = (outs AnyTensor:$dx);
  let assemblyFormat = "$index `,` $dy attr-dict `:` functional-type(operands, results)";
}
def Nn_IndexSelectBackwardOp : Nn_LookupBackwardOp<"index_select_backward"> { let summary = "the dual of index_select"; }
def Nn_GatherElementsBackwardOp : Nn_LookupBackwardOp<"gather_elements_backward"> {
  let summary = "the dual of gather_elements";
}

def Nn_ScatterElementsOp : Nn_LayerOp<"scatter_elements", [Nn_Gradient]> {
  let summary = "torch.scatter: x with the source's element i at […, index[…, i, …], …] along `dim`; with `add`, added there";
  let description = [{
    index and source have x's sizes except along `dim`. Without a source, `value` is written. If several elements go to one
    place, the last one counts.
  }];
  let arguments = (ins AnyTensor:$index, AnyTensor:$x, Optional<AnyTensor>:$source, I64Attr:$dim, UnitAttr:$add,
      DefaultValuedAttr<F64Attr, "0.0">:$value);
  let results = (outs AnyTensor:$y);
  let assemblyFormat = "$index `,` $x (`,` $source^)? attr-dict `:` functional-type(operands, results)";
}

#endif
