// The ops that gradients and losses are composed of: generated kernels.
#ifndef SHEAF_NN_GRADIENT_TD
#define SHEAF_NN_GRADIENT_TD

include "ir/Nn/NnElementwise.td"
include "ir/Nn/NnTensor.td"

/// An element-wise op whose shapes don't broadcast as PyTorch's do, or that doesn't read all of its operands.
class Nn_TrainingElementwiseOp<string mnemonic, list<string> overridden = [], list<Trait> traits = []>
    : Nn_ElementwiseOp<mnemonic, !listconcat(traits, [DeclareOpInterfaceMethods<Nn_ElementwiseOpInterface, overridden>])>;

// Arithmetic -----------------------------------------------------------------------------------------------------

def Nn_DivOp : Nn_BinaryOp<"div", "a / b, broadcast as in PyTorch">;
def Nn_ExpOp : Nn_UnaryOp<"exp", "e^x">;
def Nn_RsqrtOp : Nn_UnaryOp<"rsqrt", "1 / √(x + eps)", (ins F64Attr:$eps)>;

// Sums and sizes -------------------------------------------------------------------------------------------------

def Nn_SumOp : Nn_TensorOp<"sum", (ins DenseI64ArrayAttr:$dims, BoolAttr:$keepdim)> {
  let summary = "sum over `dims`, which must be adjacent to become a kernel";
}

def Nn_BroadcastOp : Nn_TrainingElementwiseOp<"broadcast", ["operandDims", "operandIsRead"],
    [Nn_Gradient]> {
  let summary = "x in the shape of `like`, x's dimension i running along dimension dims[i]";
  let description = "Each of x's sizes is that of `like` or 1; `dims` ascend. Only the shape of `like` is used.";
  let arguments = (ins AnyTensor:$x, AnyTensor:$like, DenseI64ArrayAttr:$dims);
  let results = (outs AnyTensor:$y);
  let assemblyFormat = "$x `like` $like attr-dict `:` functional-type(operands, results)";
}

def Nn_InverseCountOp : Nn_LayerOp<"inverse_count"> {
  let summary = "1 / the product of the sizes of `like` along `dims`: a 0-dimensional float32 tensor";
  let description = [{
    Only the shape of `like` is used. Without dims: 1. With `whole`, in a parallel region, it counts all replicas' elements together.
  }];
  let arguments = (ins AnyTensor:$like, DenseI64ArrayAttr:$dims, UnitAttr:$whole);
  let results = (outs AnyTensor:$y);
  let assemblyFormat = "$like attr-dict `:` functional-type(operands, results)";
}

def Nn_PadOp : Nn_TensorOp<"pad", (ins I64Attr:$dim, I64Attr:$begin, I64Attr:$size,
    DefaultValuedAttr<F64Attr, "0.0">:$value)> {
  let summary = "`value` in a size of `size` along `dim`, with x from `begin` on; with zeros, the dual of slice";
  let description = [{
    x's own size may be a length; the slice whose dual this is has noted how large it may be. With `nn.length` the result has
    that length instead of `size`, x is one entry, and `begin` is 0, the first, or -1, the last.
  }];
}

def Nn_EmbeddingBackwardOp : Nn_LayerOp<"embedding_backward"> {
  let summary = "row v of the result is the sum of the rows of dy whose index in x is v";
  let description = "x `[…]` of integers, dy `[…, D]`, result `[num_embeddings, D]`; row `padding_idx` (-1: none) stays 0.";
  let arguments = (ins AnyTensor:$x, AnyTensor:$dy, I64Attr:$num_embeddings, I64Attr:$padding_idx);
  let results = (outs AnyTensor:$dweight);
  let assemblyFormat = "$x `,` $dy attr-dict `:` functional-type(operands, results)";
}

// Activations and dropout ----------------------------------------------------------------------------------------

def Nn_ActivationBackwardOp : Nn_TrainingElementwiseOp<"activation_backward"> {
  let summary = "dy · f'(x)";
  let description = [{
    `value` is the activation's result (relu, leaky_relu, tanh, sigmoid, hardtanh) or its argument (elu, silu, gelu,
    gelu_tanh; leaky_relu with a negative slope).
  }];
  let arguments = (ins AnyTensor:$dy, AnyTensor:$value, DictionaryAttr:$activation);
  let results = (outs AnyTensor:$dx);
  let assemblyFormat = "$dy `,` $value attr-dict `:` functional-type(operands, results)";
}

def Nn_MapBackwardOp : Nn_TrainingElementwiseOp<"map_backward", ["operandDims"]> {
  let summary = "dy · the derivative of nn.map's function along its operand number `along`";
  let description = [{
    `values` are the operands and the result that the derivative reads; `reads` gives their numbers, the result's being
    the number of operands.
  }];
  let arguments = (ins AnyTensor:$dy, Variadic<AnyTensor>:$values, StrAttr:$function, DenseF64ArrayAttr:$numbers,
                       I64Attr:$along, DenseI64ArrayAttr:$reads);
  let results = (outs AnyTensor:$dx);
  let assemblyFormat = "$function $dy (`,` $values^)? attr-dict `:` functional-type(operands, results)";
}

def Nn_DropoutTrainOp : Nn_TrainingElementwiseOp<"dropout_train", ["usesCoordinates", "usesSizes"],
    [Nn_Gradient]> {
  let summary = "x / (1 - p) where a random number is at least p, 0 elsewhere";
  let description = [{
    The number is Philox's (ir/Scalars.h) for `seed`, `step` (0-dimensional int64), the stream `layer` and the element's
    index in the whole batch: row-major, the dimension that depends on the batch counted as the outermost one; lengths come
    behind it. So the
    mask belongs to the element, however the batch is split. For a micro-batch, `first_row` (0-dimensional int64) is its
    beginning in the batch, and `rows` how much the dimension that depends on the batch grows with each row of it. With
    `mask_dims`, elements that differ only in other dimensions share a number.
  }];
  let arguments = (ins AnyTensor:$x, AnyTensor:$step, AnyTensor:$seed, Optional<AnyTensor>:$first_row, F64Attr:$p,
                       I64Attr:$layer, DefaultValuedAttr<I64Attr, "1">:$rows, OptionalAttr<DenseI64ArrayAttr>:$mask_dims);
  let results = (outs AnyTensor:$y);
  let assemblyFormat = [{
    $x `step` `(` $step `)` `seed` `(` $seed `)` (`first_row` `(` $first_row^ `)`)? attr-dict `:`
    functional-type(operands, results)
  }];
}

def Nn_RreluTrainOp : Nn_TrainingElementwiseOp<"rrelu_train", ["usesCoordinates", "usesSizes"],
    [Nn_Gradient]> {
  let summary = "x where `value` is above 0, elsewhere x times a random slope between `lower` and `upper`";
  let description = [{
    `value` is x itself; for the gradient of x, it is what x was. The slope belongs to the element: its number is drawn as
    nn.dropout_train's.
  }];
  let arguments = (ins AnyTensor:$x, AnyTensor:$value, AnyTensor:$step, AnyTensor:$seed, Optional<AnyTensor>:$first_row,
                       F64Attr:$lower, F64Attr:$upper, I64Attr:$layer, DefaultValuedAttr<I64Attr, "1">:$rows);
  let results = (outs AnyTensor:$y);
  let assemblyFormat = [{
    $x `,` $value `step` `(` $step `)` `seed` `(` $seed `)` (`first_row` `(` $first_row^ `)`)? attr-dict `:`
    functional-type(operands, results)
  }];
}

// Losses ---------------------------------------------------------------------------------------------------------

def Nn_TargetWeightsOp : Nn_TrainingElementwiseOp<"target_weights", ["operandDims", "usesCoordinates"]> {
  let summary = "the weight of each class's log-probability in cross entropy";
  let description = [{
    t `[N, d…]` (or `[]`) of class indices, result `[N, classes, d…]` (or `[classes]`) of float32: 0 where t is ignore_index,
    else (1 - label_smoothing) · [c = t] + label_smoothing / classes, NaN where t isn't a class.
  }];
  let arguments = (ins AnyTensor:$t, I64Attr:$classes, I64Attr:$ignore_index, F64Attr:$label_smoothing);
  let results = (outs AnyTensor:$q);
  let assemblyFormat = "$t attr-dict `:` functional-type(operands, results)";
}

def Nn_TargetCountsOp : Nn_TrainingElementwiseOp<"target_counts"> {
  let summary = "the sum of nn.target_weights over the classes, whatever the smoothing";
  let description = "In float32, in t's shape: 0 where t is ignore_index, else 1, NaN where t isn't a class.";
  let arguments = (ins AnyTensor:$t, I64Attr:$classes, I64Attr:$ignore_index);
  let results = (outs AnyTensor:$y);
  let assemblyFormat = "$t attr-dict `:` functional-type(operands, results)";
}

def Nn_TargetValuesOp : Nn_LayerOp<"target_values"> {
  let summary = "the sum over the classes of nn.weighted of x by nn.target_weights without smoothing";
  let description = "x `[N, classes, d…]` (or `[classes]`) of float32 at t's class, in t's shape: 0 where t is ignore_index, NaN where t isn't a class.";
  let arguments = (ins AnyTensor:$t, AnyTensor:$x, I64Attr:$ignore_index);
  let results = (outs AnyTensor:$y);
  let assemblyFormat = "$t `,` $x attr-dict `:` functional-type(operands, results)";
  let extraClassDeclaration = [{
    /// The dimension of the classes, of x or of any [N, classes, d…] or [classes] of this rank.
    static int64_t dimOfClasses(int64_t rank) { return rank > 1 ? 1 : 0; }
  }];
}

#endif
