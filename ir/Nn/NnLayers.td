// Layers with parameters, normalisation over rows, recurrent layers, attention and pooling.
// Names of operands and attributes are PyTorch's; shapes are given in each op's description.
#ifndef SHEAF_NN_LAYERS_TD
#define SHEAF_NN_LAYERS_TD

include "ir/Nn/NnDialect.td"
include "ir/Nn/NnInterfaces.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

/// The trait of an op that has a dual.
defvar Nn_Gradient = DeclareOpInterfaceMethods<Nn_GradientOpInterface>;

/// A layer op: pure, with a shape function and a rule for how it splits.
class Nn_LayerOp<string mnemonic, list<Trait> traits = []>
    : Op<Nn_Dialect, mnemonic, !listconcat(traits, [Pure,
        DeclareOpInterfaceMethods<Nn_ShapeOpInterface>, DeclareOpInterfaceMethods<Nn_SplitOpInterface>])>;

def Nn_LinearOp : Nn_LayerOp<"linear", [AttrSizedOperandSegments, Nn_Gradient]> {
  let summary = "y = activation(x · weightᵀ + bias + residual)";
  let description = "x `[…, in]`, weight `[out, in]`, bias `[out]`, residual and y `[…, out]`.";
  let arguments = (ins AnyTensor:$x, AnyTensor:$weight, Optional<AnyTensor>:$bias, Optional<AnyTensor>:$residual,
                       OptionalAttr<DictionaryAttr>:$activation);
  let results = (outs AnyTensor:$y);
  let assemblyFormat = [{
    $x `,` $weight (`bias` `(` $bias^ `)`)? (`residual` `(` $residual^ `)`)? attr-dict `:` functional-type(operands, results)
  }];
}

def Nn_ConvOp : Nn_LayerOp<"conv", [AttrSizedOperandSegments, Nn_Gradient]> {
  let summary = "convolution over one or two spatial dimensions, with an optional residual sum and activation";
  let description = [{
    x `[N, I, s…]` (or `[I, s…]`), weight `[O, I/groups, k…]`, bias `[O]`, residual and y `[N, O, s'…]`, with
    s' = (s + padding_begin + padding_end - dilation·(k-1) - 1) / stride + 1 rounded down.
  }];
  let arguments = (ins AnyTensor:$x, AnyTensor:$weight, Optional<AnyTensor>:$bias, Optional<AnyTensor>:$residual,
                       DenseI64ArrayAttr:$stride, DenseI64ArrayAttr:$padding_begin, DenseI64ArrayAttr:$padding_end,
                       DenseI64ArrayAttr:$dilation, I64Attr:$groups, OptionalAttr<DictionaryAttr>:$activation);
  let results = (outs AnyTensor:$y);
  let assemblyFormat = [{
    $x `,` $weight (`bias` `(` $bias^ `)`)? (`residual` `(` $residual^ `)`)? attr-dict `:` functional-type(operands, results)
  }];
}

def Nn_ConvTransposeOp : Nn_LayerOp<"conv_transpose", [Nn_Gradient]> {
  let summary = "transposed convolution";
  let description = [{
    x `[N, I, s…]` (or `[I, s…]`), weight `[I, O/groups, k…]`, bias `[O]`, y `[N, O, s'…]` with
    s' = (s-1)·stride - 2·padding + dilation·(k-1) + output_padding + 1.
  }];
  let arguments = (ins AnyTensor:$x, AnyTensor:$weight, Optional<AnyTensor>:$bias, DenseI64ArrayAttr:$stride,
                       DenseI64ArrayAttr:$padding, DenseI64ArrayAttr:$output_padding, DenseI64ArrayAttr:$dilation,
                       I64Attr:$groups, OptionalAttr<DictionaryAttr>:$activation);
  let results = (outs AnyTensor:$y);
  let assemblyFormat = "$x `,` $weight (`bias` `(` $bias^ `)`)? attr-dict `:` functional-type(operands, results)";
}

def Nn_MatMulOp : Nn_LayerOp<"matmul", [Nn_Gradient]> {
  let summary = "torch.matmul: matrix product of the last two dimensions, the others broadcast";
  let description = "With transpose_a, transpose_b the last two dimensions of a, b are swapped first.";
  let arguments = (ins AnyTensor:$a, AnyTensor:$b, UnitAttr:$transpose_a, UnitAttr:$transpose_b);
  let results = (outs AnyTensor:$y);
  let assemblyFormat = "$a `,` $b attr-dict `:` functional-type(operands, results)";
}

def Nn_LayerNormOp : Nn_LayerOp<"layer_norm", [AttrSizedOperandSegments, Nn_Gradient]> {
  let summary = "normalises the last `dims` dimensions to mean 0 and variance 1, then applies weight and bias";
  let arguments = (ins AnyTensor:$x, Optional<AnyTensor>:$weight, Optional<AnyTensor>:$bias,
                       DenseI64ArrayAttr:$normalized_shape, F64Attr:$eps);
  let results = (outs AnyTensor:$y);
  let assemblyFormat = [{
    $x (`weight` `(` $weight^ `)`)? (`bias` `(` $bias^ `)`)? attr-dict `:` functional-type(operands, results)
  }];
}

def Nn_RmsNormOp : Nn_LayerOp<"rms_norm"> {
  let summary = "x / √(the mean of x² over the last dimensions + eps), times weight; nn-lower-layers lowers it";
  let arguments = (ins AnyTensor:$x, Optional<AnyTensor>:$weight, DenseI64ArrayAttr:$normalized_shape, F64Attr:$eps);
  let results = (outs AnyTensor:$y);
  let assemblyFormat = "$x (`weight` `(` $weight^ `)`)? attr-dict `:` functional-type(operands, results)";
}

def Nn_LocalResponseNormOp : Nn_LayerOp<"local_response_norm"> {
  let summary = "x / (k + alpha · the mean of x² over `size` neighbouring channels)^beta; nn-lower-layers lowers it";
  let description = [{
    x and y `[N, C, s…]`. Channel c's neighbours are c - size/2 … c + (size - 1)/2, rounded down; those outside count as zeros.
  }];
  let arguments = (ins AnyTensor:$x, I64Attr:$size, F64Attr:$alpha, F64Attr:$beta, F64Attr:$k);
  let results = (outs AnyTensor:$y);
  let assemblyFormat = "$x attr-dict `:` functional-type(operands, results)";
}

def Nn_GroupNormOp : Nn_LayerOp<"group_norm", [AttrSizedOperandSegments, Nn_Gradient]> {
  let summary = "normalises each of `num_groups` groups of channels; x `[N, C, …]`, weight and bias `[C]`";
  let arguments = (ins AnyTensor:$x, Optional<AnyTensor>:$weight, Optional<AnyTensor>:$bias, I64Attr:$num_groups, F64Attr:$eps);
  let results = (outs AnyTensor:$y);
  let assemblyFormat = [{
    $x (`weight` `(` $weight^ `)`)? (`bias` `(` $bias^ `)`)? attr-dict `:` functional-type(operands, results)
  }];
}

def Nn_EmbeddingOp : Nn_LayerOp<"embedding", [Nn_Gradient]> {
  let summary = "rows of weight `[V, D]` picked by x `[…]`: y `[…, D]`";
  let description = "The row `padding_idx` gets no gradient.";
  let arguments = (ins AnyTensor:$x, AnyTensor:$weight, OptionalAttr<I64Attr>:$padding_idx);
  let results = (outs AnyTensor:$y);
  let assemblyFormat = "$x `,` $weight attr-dict `:` functional-type(operands, results)";
}

/// LSTM, GRU and RNN as in PyTorch, with weights in its order (weight_ih_l0, weight_hh_l0, bias_ih_l0, bias_hh_l0, … _reverse).
class Nn_RecurrentOp<string mnemonic, dag states, dag outputs, dag attributes = (ins)> : Nn_LayerOp<mnemonic, [AttrSizedOperandSegments]> {
  let arguments = !con((ins AnyTensor:$x), states, (ins Variadic<AnyTensor>:$weights, I64Attr:$hidden_size,
                       I64Attr:$num_layers, BoolAttr:$bidirectional, BoolAttr:$batch_first, BoolAttr:$bias), attributes);
  let results = !con((outs AnyTensor:$y, AnyTensor:$hn), outputs);
}
def Nn_LstmOp : Nn_RecurrentOp<"lstm", (ins Optional<AnyTensor>:$h0, Optional<AnyTensor>:$c0), (outs AnyTensor:$cn)> {
  let summary = "torch.nn.LSTM: y `[T, N, dirs·H]` (`[N, T, …]` if batch_first), h and c `[layers·dirs, N, H]`";
  let assemblyFormat = [{
    $x (`h0` `(` $h0^ `)`)? (`c0` `(` $c0^ `)`)? `weights` `(` $weights `)` attr-dict `:` functional-type(operands, results)
  }];
}
def Nn_GruOp : Nn_RecurrentOp<"gru", (ins Optional<AnyTensor>:$h0), (outs)> {
  let summary = "torch.nn.GRU: y `[T, N, dirs·H]` (`[N, T, …]` if batch_first), h `[layers·dirs, N, H]`";
  let assemblyFormat = "$x (`h0` `(` $h0^ `)`)? `weights` `(` $weights `)` attr-dict `:` functional-type(operands, results)";
}

def Nn_RnnOp : Nn_RecurrentOp<"rnn", (ins Optional<AnyTensor>:$h0), (outs), (ins BoolAttr:$relu)> {
  let summary = "torch.nn.RNN: h = tanh(W x + U h + biases), or max(…, 0) with `relu`; y and h as for gru";
  let assemblyFormat = "$x (`h0` `(` $h0^ `)`)? `weights` `(` $weights `)` attr-dict `:` functional-type(operands, results)";
}

def Nn_MultiheadAttentionOp : Nn_LayerOp<"multihead_attention", [AttrSizedOperandSegments]> {
  let summary = "torch.nn.MultiheadAttention: attention, and its weights";
  let description = [{
    query `[L, N, E]`, key and value `[S, N, E]` (N first if batch_first), in_proj_weight `[3E, E]`, in_proj_bias `[3E]`,
    out_proj_weight `[E, E]`, out_proj_bias `[E]`; y like query; weights `[N, L, S]`, averaged over the heads, or without
    `average` `[N, heads, L, S]`. attn_mask `[L, S]` or `[N·heads, L, S]`, key_padding_mask `[N, S]`: numbers to add to the
    scores, or integers that hide positions where they aren't 0. With `is_causal`, position i sees keys up to i. nn-lower-layers
    lowers it.
  }];
  let arguments = (ins AnyTensor:$query, AnyTensor:$key, AnyTensor:$value, AnyTensor:$in_proj_weight,
                       Optional<AnyTensor>:$in_proj_bias, AnyTensor:$out_proj_weight, Optional<AnyTensor>:$out_proj_bias,
                       Optional<AnyTensor>:$attn_mask, Optional<AnyTensor>:$key_padding_mask, I64Attr:$num_heads,
                       BoolAttr:$batch_first, UnitAttr:$is_causal, DefaultValuedAttr<BoolAttr, "true">:$average);
  let results = (outs AnyTensor:$y, AnyTensor:$weights);
  let assemblyFormat = [{
    $query `,` $key `,` $value `in_proj` `(` $in_proj_weight (`,` $in_proj_bias^)? `)`
    `out_proj` `(` $out_proj_weight (`,` $out_proj_bias^)? `)` (`attn_mask` `(` $attn_mask^ `)`)?
    (`key_padding_mask` `(` $key_padding_mask^ `)`)? attr-dict `:` functional-type(operands, results)
  }];
}

#endif
