// Training: layers that keep what their backward pass needs, and the backward passes, all library calls. Operands, results and
// attributes are those of docs/training.md.
#ifndef SHEAF_NN_TRAINING_TD
#define SHEAF_NN_TRAINING_TD

include "ir/Nn/NnTensor.td"

/// A layer as it runs in training. To the compiler, a workspace is a `ui8` tensor of the shape [1]; the library determines its
/// size.
class Nn_TrainOp<string mnemonic, list<Trait> traits = []>
    : Nn_LayerOp<mnemonic, !listconcat(traits, [Nn_Gradient])>;

// Convolutions ---------------------------------------------------------------------------------------------------

def Nn_ConvBackwardDataOp : Nn_LayerOp<"conv_backward_data"> {
  let summary = "the gradient of a convolution's input";
  let description = "dy `[N, O, s'…]`, weight `[O, I/groups, k…]`, dx `[N, I, size…]`; attributes are nn.conv's.";
  let arguments = (ins AnyTensor:$dy, AnyTensor:$weight, DenseI64ArrayAttr:$stride, DenseI64ArrayAttr:$padding_begin,
                       DenseI64ArrayAttr:$padding_end, DenseI64ArrayAttr:$dilation, I64Attr:$groups,
                       DenseI64ArrayAttr:$size);
  let results = (outs AnyTensor:$dx);
  let assemblyFormat = "$dy `,` $weight attr-dict `:` functional-type(operands, results)";
}

def Nn_ConvBackwardWeightOp : Nn_LayerOp<"conv_backward_weight"> {
  let summary = "the gradient of a convolution's weight and, with `bias`, of its bias";
  let description = [{
    x `[N, I, s…]`, dy `[N, O, s'…]`, dweight `[O, I/groups, kernel_size…]`, dbias `[O]`; the other attributes are
    nn.conv's.
  }];
  let arguments = (ins AnyTensor:$x, AnyTensor:$dy, DenseI64ArrayAttr:$stride, DenseI64ArrayAttr:$padding_begin,
                       DenseI64ArrayAttr:$padding_end, DenseI64ArrayAttr:$dilation, I64Attr:$groups,
                       DenseI64ArrayAttr:$kernel_size, BoolAttr:$bias);
  let results = (outs AnyTensor:$dweight, Optional<AnyTensor>:$dbias);
  let assemblyFormat = "$x `,` $dy attr-dict `:` functional-type(operands, results)";
}

// Linear layers --------------------------------------------------------------------------------------------------

def Nn_LinearBackwardDataOp : Nn_LayerOp<"linear_backward_data"> {
  let summary = "the gradient of a linear layer's input: dx = dy · weight";
  let description = "dy `[…, out]`, weight `[out, in]`, dx `[…, in]`.";
  let arguments = (ins AnyTensor:$dy, AnyTensor:$weight);
  let results = (outs AnyTensor:$dx);
  let assemblyFormat = "$dy `,` $weight attr-dict `:` functional-type(operands, results)";
}

def Nn_LinearBackwardWeightOp : Nn_LayerOp<"linear_backward_weight"> {
  let summary = "the gradient of a linear layer's weight, dyᵀ · x, and, with `bias`, of its bias, Σ dy";
  let description = "x `[…, in]`, dy `[…, out]`, dweight `[out, in]`, dbias `[out]`.";
  let arguments = (ins AnyTensor:$x, AnyTensor:$dy, BoolAttr:$bias);
  let results = (outs AnyTensor:$dweight, Optional<AnyTensor>:$dbias);
  let assemblyFormat = "$x `,` $dy attr-dict `:` functional-type(operands, results)";
}

// Batch norm -----------------------------------------------------------------------------------------------------

def Nn_BatchNormTrainOp : Nn_TrainOp<"batch_norm_train", [AttrSizedOperandSegments]> {
  let summary = "batch norm with its own batch's statistics";
  let description = [{
    x and y `[N, C, …]`; weight, bias, mean and var (biased) `[C]`. weight and bias are both present or both absent. With
    `activation` (only {kind = "relu"}) the fourth result is the workspace. In a parallel region each replica has the statistics
    of its chunk, as in PyTorch. The statistics themselves have no gradient: they go to the running ones.
  }];
  let arguments = (ins AnyTensor:$x, Optional<AnyTensor>:$weight, Optional<AnyTensor>:$bias, F64Attr:$eps,
                       OptionalAttr<DictionaryAttr>:$activation);
  let results = (outs AnyTensor:$y, AnyTensor:$mean, AnyTensor:$var, Optional<AnyTensor>:$workspace);
  let assemblyFormat = [{
    $x (`weight` `(` $weight^ `)`)? (`bias` `(` $bias^ `)`)? attr-dict `:` functional-type(operands, results)
  }];
}

def Nn_BatchNormBackwardOp : Nn_LayerOp<"batch_norm_backward", [AttrSizedOperandSegments]> {
  let summary = "the dual of batch_norm_train: dx and, if it has a weight, dweight and dbias";
  let arguments = (ins AnyTensor:$x, AnyTensor:$dy, AnyTensor:$mean, AnyTensor:$var, Optional<AnyTensor>:$weight,
                       Optional<AnyTensor>:$workspace, F64Attr:$eps, OptionalAttr<DictionaryAttr>:$activation);
  let results = (outs AnyTensor:$dx, Variadic<AnyTensor>:$parameters);
  let assemblyFormat = [{
    $x `,` $dy `mean` `(` $mean `)` `var` `(` $var `)` (`weight` `(` $weight^ `)`)? (`workspace` `(` $workspace^ `)`)?
    attr-dict `:` functional-type(operands, results)
  }];
}

// Recurrent layers -----------------------------------------------------------------------------------------------

def Nn_LstmTrainOp : Nn_TrainOp<"lstm_train", [AttrSizedOperandSegments]> {
  let summary = "lstm, and a workspace";
  let arguments = (ins AnyTensor:$x, Optional<AnyTensor>:$h0, Optional<AnyTensor>:$c0, Variadic<AnyTensor>:$weights,
                       I64Attr:$hidden_size, I64Attr:$num_layers, BoolAttr:$bidirectional, BoolAttr:$batch_first,
                       BoolAttr:$bias);
  let results = (outs AnyTensor:$y, AnyTensor:$hn, AnyTensor:$cn, AnyTensor:$workspace);
  let assemblyFormat = [{
    $x (`h0` `(` $h0^ `)`)? (`c0` `(` $c0^ `)`)? `weights` `(` $weights `)` attr-dict `:` functional-type(operands, results)
  }];
}

def Nn_GruTrainOp : Nn_TrainOp<"gru_train", [AttrSizedOperandSegments]> {
  let summary = "gru, and a workspace";
  let arguments = (ins AnyTensor:$x, Optional<AnyTensor>:$h0, Variadic<AnyTensor>:$weights, I64Attr:$hidden_size,
                       I64Attr:$num_layers, BoolAttr:$bidirectional, BoolAttr:$batch_first, BoolAttr:$bias);
  let results = (outs AnyTensor:$y, AnyTensor:$hn, AnyTensor:$workspace);
  let assemblyFormat = "$x (`h0` `(` $h0^ `)`)? `weights` `(` $weights `)` attr-dict `:` functional-type(operands, results)";
}

def Nn_RnnTrainOp : Nn_TrainOp<"rnn_train", [AttrSizedOperandSegments]> {
  let summary = "rnn, and a workspace";
  let arguments = (ins AnyTensor:$x, Optional<AnyTensor>:$h0, Variadic<AnyTensor>:$weights, I64Attr:$hidden_size,
                       I64Attr:$num_layers, BoolAttr:$bidirectional, BoolAttr:$batch_first, BoolAttr:$bias, BoolAttr:$relu);
  let results = (outs AnyTensor:$y, AnyTensor:$hn, AnyTensor:$workspace);
  let assemblyFormat = "$x (`h0` `(` $h0^ `)`)? `weights` `(` $weights `)` attr-dict `:` functional-type(operands, results)";
}

def Nn_LstmBackwardOp : Nn_LayerOp<"lstm_backward", [AttrSizedOperandSegments]> {
  let summary = "the dual of lstm_train";
  let description = [{
    At least one of dy, dh and dc is present; the others count as zeros. Results: dx, then dh0 and dc0 if h0 and c0 are given,
    then the weights' gradients.
  }];
  let arguments = (ins AnyTensor:$x, Optional<AnyTensor>:$h0, Optional<AnyTensor>:$c0, Variadic<AnyTensor>:$weights,
                       AnyTensor:$y, AnyTensor:$hn, AnyTensor:$cn, AnyTensor:$workspace, Optional<AnyTensor>:$dy,
                       Optional<AnyTensor>:$dh, Optional<AnyTensor>:$dc, I64Attr:$hidden_size, I64Attr:$num_layers,
                       BoolAttr:$bidirectional, BoolAttr:$batch_first, BoolAttr:$bias);
  let results = (outs AnyTensor:$dx, Variadic<AnyTensor>:$rest);
  let assemblyFormat = [{
    $x (`h0` `(` $h0^ `)`)? (`c0` `(` $c0^ `)`)? `weights` `(` $weights `)` `results` `(` $y `,` $hn `,` $cn `)`
    `workspace` `(` $workspace `)` (`dy` `(` $dy^ `)`)? (`dh` `(` $dh^ `)`)? (`dc` `(` $dc^ `)`)?
    attr-dict `:` functional-type(operands, results)
  }];
}

def Nn_GruBackwardOp : Nn_LayerOp<"gru_backward", [AttrSizedOperandSegments]> {
  let summary = "the dual of gru_train";
  let description = "At least one of dy and dh is present. Results: dx, then dh0 if h0 is given, then the weights' gradients.";
  let arguments = (ins AnyTensor:$x, Optional<AnyTensor>:$h0, Variadic<AnyTensor>:$weights, AnyTensor:$y, AnyTensor:$hn,
                       AnyTensor:$workspace, Optional<AnyTensor>:$dy, Optional<AnyTensor>:$dh, I64Attr:$hidden_size,
                       I64Attr:$num_layers, BoolAttr:$bidirectional, BoolAttr:$batch_first, BoolAttr:$bias);
  let results = (outs AnyTensor:$dx, Variadic<AnyTensor>:$rest);
  let assemblyFormat = [{
    $x (`h0` `(` $h0^ `)`)? `weights` `(` $weights `)` `results` `(` $y `,` $hn `)` `workspace` `(` $workspace `)`
    (`dy` `(` $dy^ `)`)? (`dh` `(` $dh^ `)`)? attr-dict `:` functional-type(operands, results)
  }];
}

def Nn_RnnBackwardOp : Nn_LayerOp<"rnn_backward", [AttrSizedOperandSegments]> {
  let summary = "the dual of rnn_train; operands and results as for gru_backward";
  let arguments = (ins AnyTensor:$x, Optional<AnyTensor>:$h0, Variadic<AnyTensor>:$weights, AnyTensor:$y, AnyTensor:$hn,
                       AnyTensor:$workspace, Optional<AnyTensor>:$dy, Optional<AnyTensor>:$dh, I64Attr:$hidden_size,
                       I64Attr:$num_layers, BoolAttr:$bidirectional, BoolAttr:$batch_first, BoolAttr:$bias, BoolAttr:$relu);
  let results = (outs AnyTensor:$dx, Variadic<AnyTensor>:$rest);
  let assemblyFormat = [{
    $x (`h0` `(` $h0^ `)`)? `weights` `(` $weights `)` `results` `(` $y `,` $hn `)` `workspace` `(` $workspace `)`
    (`dy` `(` $dy^ `)`)? (`dh` `(` $dh^ `)`)? attr-dict `:` functional-type(operands, results)
  }];
}

#endif
