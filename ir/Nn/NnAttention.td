// Attention on projected queries, keys and values. NnLayers.td has torch.nn.MultiheadAttention.
#ifndef SHEAF_NN_ATTENTION_TD
#define SHEAF_NN_ATTENTION_TD

include "ir/Nn/NnGradient.td"

def Nn_AttentionOp : Nn_LayerOp<"attention", [Nn_Gradient]> {
  let summary = "torch.nn.functional.scaled_dot_product_attention: softmax(scale · query · keyᵀ + mask) · value";
  let description = [{
    query `[…, L, E]`, key `[…, S, E]`, value `[…, S, D]`, y `[…, L, D]`; the dimensions before them agree. mask broadcasts to
    `[…, L, S]`: numbers to add, or integers that hide positions where they are 0. Without `scale`: 1/√E. With `is_causal`,
    position i sees keys up to i; with `enable_gqa`, several heads (dimension -3 of query) share one of key and value.
    nn-lower-layers lowers it, many queries in parts; in training it does so after building the dual, which computes the weights
    again. enable_gqa is resolved before.
  }];
  let arguments = (ins AnyTensor:$query, AnyTensor:$key, AnyTensor:$value, Optional<AnyTensor>:$mask,
                       OptionalAttr<F64Attr>:$scale, BoolAttr:$is_causal, BoolAttr:$enable_gqa);
  let results = (outs AnyTensor:$y);
  let assemblyFormat = [{
    $query `,` $key `,` $value (`mask` `(` $mask^ `)`)? attr-dict `:` functional-type(operands, results)
  }];
}

def Nn_MaskScoresOp : Nn_TrainingElementwiseOp<"mask_scores", ["usesCoordinates"], [Nn_Gradient]> {
  let summary = "an attention's scores, with -∞ where a key is hidden";
  let description = [{
    x `[…, L, S]`. mask broadcasts to it: floating-point numbers are added; integers hide positions where they are 0 or, with
    `inverted`, where they aren't. With `causal`, row i doesn't see the keys after position causal + i.
  }];
  let arguments = (ins AnyTensor:$x, Optional<AnyTensor>:$mask, UnitAttr:$inverted, OptionalAttr<I64Attr>:$causal);
  let results = (outs AnyTensor:$y);
  let assemblyFormat = "$x (`mask` `(` $mask^ `)`)? attr-dict `:` functional-type(operands, results)";
}

#endif
