// The loss of a training program as the model file states it, and constants.
#ifndef SHEAF_NN_LOSS_TD
#define SHEAF_NN_LOSS_TD

include "ir/Nn/NnLayers.td"

def Nn_LossOp : Nn_LayerOp<"loss"> {
  let summary = "a loss by PyTorch's name, of values and targets: a 0-dimensional tensor";
  let description = [{
    `inputs` are those of PyTorch's `forward()`, in its order. `kind` is CrossEntropyLoss, NLLLoss (x `[N, C, d…]` or `[C]`, target
    `[N, d…]` or `[]` of integers; for the first also probabilities of x's shape); a loss of elements (ir/ElementLosses.cpp; inputs of
    one shape, except that the variance of GaussianNLLLoss may have a last dimension of 1); CosineEmbeddingLoss or TripletMarginLoss
    (vectors along the last dimension, with a target each); MultiMarginLoss, MultiLabelMarginLoss or
    MultiLabelSoftMarginLoss (scores of classes along the last dimension); CTCLoss (log probabilities, targets and the lengths of both). `arguments` are PyTorch's: `weight` of the losses of classes has a
    number for each; that of BCELoss and BCEWithLogitsLoss and `pos_weight` one for each entry of x's last dimension, or a
    single one. nn-training-mode lowers it.
  }];
  let arguments = (ins Variadic<AnyTensor>:$inputs, StrAttr:$kind, DictionaryAttr:$arguments);
  let results = (outs AnyTensor:$y);
  let assemblyFormat = "$kind $inputs attr-dict `:` functional-type(operands, results)";
}

def Nn_CtcLossOp : Nn_LayerOp<"ctc_loss", [Nn_Gradient]> {
  let summary = "torch.nn.functional.ctc_loss of each row";
  let description = [{
    `x` are log probabilities [T, N, C], `targets` [N, S] are integers, lengths are [N]. `losses` is [N], with `by_length` divided by
    the target's length; `alphas` [N, T, 2S + 1] is for the backward pass.
  }];
  let arguments = (ins AnyTensor:$x, AnyTensor:$targets, AnyTensor:$input_lengths, AnyTensor:$target_lengths, I64Attr:$blank,
      BoolAttr:$zero_infinity, BoolAttr:$by_length);
  let results = (outs AnyTensor:$losses, AnyTensor:$alphas);
  let assemblyFormat = "$x `,` $targets `,` $input_lengths `,` $target_lengths attr-dict `:` functional-type(operands, results)";
}
def Nn_CtcLossBackwardOp : Nn_LayerOp<"ctc_loss_backward"> {
  let summary = "the dual of ctc_loss; `betas` isn't needed afterwards";
  let arguments = (ins AnyTensor:$dy, AnyTensor:$x, AnyTensor:$targets, AnyTensor:$input_lengths, AnyTensor:$target_lengths,
      AnyTensor:$alphas, I64Attr:$blank, BoolAttr:$zero_infinity, BoolAttr:$by_length);
  let results = (outs AnyTensor:$dx, AnyTensor:$betas);
  let assemblyFormat = "operands attr-dict `:` functional-type(operands, results)";
}

def Nn_FillOp : Op<Nn_Dialect, "fill", [Pure, DeclareOpInterfaceMethods<Nn_ShapeOpInterface>,
    DeclareOpInterfaceMethods<Nn_ElementwiseOpInterface>]> {
  let summary = "a 0-dimensional float32 tensor that holds `value`";
  let arguments = (ins F64Attr:$value);
  let results = (outs AnyTensor:$y);
  let assemblyFormat = "$value attr-dict `:` functional-type(operands, results)";
}

def Nn_ConstantOp : Nn_LayerOp<"constant"> {
  let summary = "a float32 tensor of given numbers";
  let description = [{
    `values` in row-major order. Only the place of `like` is used: the result is made there.
  }];
  let arguments = (ins AnyTensor:$like, DenseF64ArrayAttr:$values, DenseI64ArrayAttr:$shape);
  let results = (outs AnyTensor:$y);
  let assemblyFormat = "$values `like` $like attr-dict `:` functional-type(operands, results)";
}

def Nn_WeightedOp : Nn_ElementwiseOp<"weighted", [DeclareOpInterfaceMethods<Nn_ElementwiseOpInterface>,
                                                  DeclareOpInterfaceMethods<Nn_GradientOpInterface>]> {
  let summary = "weight · x; 0 where the weight is 0, whatever x is";
  let description = "A term of cross entropy: log p of a class other than the target's may be minus infinity.";
  let arguments = (ins AnyTensor:$weight, AnyTensor:$x);
  let results = (outs AnyTensor:$y);
  let assemblyFormat = "$weight `,` $x attr-dict `:` functional-type(operands, results)";
}

#endif
